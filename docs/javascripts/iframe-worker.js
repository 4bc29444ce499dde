/* The search of the site runs in a worker, and browsers start no worker from files on the disk. For pages that
 * are opened from there, a hidden frame takes the place of the worker: it runs the same script, and messages are
 * events of both sides. The search script looks for `IFrameWorker` to find its own folder. */
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const source = new URL(url, location.href).href;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      this.ready = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inside.document.createElement("script");
          script.src = source;
          script.addEventListener("load", () => resolve(inside));
          script.addEventListener("error", (event) => this.dispatchEvent(new ErrorEvent("error", event)));
          inside.document.head.append(script);
        }, { once: true });
      });
      document.body.append(frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
