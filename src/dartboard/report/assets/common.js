"use strict";
// What the other scripts share. Texts from runs are only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function read(name) {
  const found = document.getElementById(name);
  return found === null ? null : JSON.parse(found.textContent);
}

function make(name, attributes, ...inner) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inner);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function copied(text) {
  if (navigator.clipboard && window.isSecureContext)
    return navigator.clipboard.writeText(text).catch(() => copiedByHand(text));
  return copiedByHand(text);
}

// Where a page from a file has no clipboard of its own, a selection can be copied still.
async function copiedByHand(text) {
  const field = make("textarea", { readonly: "", class: "hidden" });
  const before = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (before) before.focus({ preventScroll: true });
  if (!done) throw new Error("the browser does not let pages copy");
}

for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code").textContent;
    try {
      await copied(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
