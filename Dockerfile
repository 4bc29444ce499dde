# dartboard on a CPU: docker build -t dartboard . && docker run --rm -v "$PWD:/work" dartboard search --recipe quick
#
# For CUDA start from an image that has torch, such as pytorch/pytorch, and leave out the index of CPU wheels:
# docker build --build-arg BASE=pytorch/pytorch:latest --build-arg INDEX=https://pypi.org/simple -t dartboard:cuda .
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
WORKDIR /source
COPY . .
RUN apt-get update && apt-get install --yes --no-install-recommends git \
    && pip wheel --no-deps --wheel-dir /wheels . ./papers

FROM ${BASE}
ARG INDEX=https://download.pytorch.org/whl/cpu
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --extra-index-url "${INDEX}" /wheels/*.whl && rm -r /wheels
RUN useradd --create-home dartboard
USER dartboard
WORKDIR /work
ENTRYPOINT ["dartboard"]
CMD ["--help"]
