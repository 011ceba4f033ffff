FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libpq-dev libssl-dev zlib1g-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY Migrations Migrations
COPY Sources Sources
COPY Tests Tests
RUN swift build --traits Server -c release --product push-registry --static-swift-stdlib \
        -Xswiftc -cross-module-optimization \
    && install -D -s "$(swift build --traits Server -c release --show-bin-path)/push-registry" /out/push-registry

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libpq5 libssl3 zlib1g libisal2 libcurl4 libxml2 \
    tzdata ca-certificates \
    && rm -rf /var/lib/apt/lists/* && useradd --system --no-create-home push-registry
COPY --from=build /out/push-registry /usr/local/bin/push-registry
USER push-registry
# The loopback address of a container cannot be reached from outside of it.
ENV PUSH_REGISTRY_LISTEN=0.0.0.0:8080
EXPOSE 8080
# Checks whether the process responds. It does not check the database: a restart would not bring that back.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 CMD ["push-registry", "healthcheck"]
ENTRYPOINT ["push-registry"]
CMD ["serve"]
