# `make run` and `make test` need a Swift 6.3 toolchain and Debian or a system like it, and nothing else.

export SWIFT ?= swift
RELEASE = .build/release/push-registry
# As in the container: calls into a standard library that is linked in cost less, and so do calls between modules that
# may be inlined.
RELEASE_FLAGS = --traits Server -c release --static-swift-stdlib -Xswiftc -cross-module-optimization
DEBIAN_PACKAGES = libpq-dev libssl-dev zlib1g-dev pkg-config postgresql tzdata curl libisal2 ca-certificates $\
	$(EXTRA_PACKAGES)

.PHONY: help run check test test-package test-citus tsan soak fuzz mutants bench lint chart docs format build \
        install deb sbom packages clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

run: build ## Build and start on an embedded PostgreSQL, with a demo app, a key and curl lines to try
	$(RELEASE) serve --demo

build: packages ## Build the optimised binary
	$(SWIFT) build $(RELEASE_FLAGS) --product push-registry

# `make build` first: installing as root must not build as root.
PREFIX = /usr/local
UNIT_FOLDER = /etc/systemd/system
UNITS = Sources/Command/push-registry/Documentation.docc/Resources
install: ## Install the built binary and the units of systemd (DESTDIR, PREFIX, UNIT_FOLDER)
	install -D -m 755 $(RELEASE) $(DESTDIR)$(PREFIX)/bin/push-registry
	install -d $(DESTDIR)$(UNIT_FOLDER)
	for unit in $(notdir $(wildcard $(UNITS)/*.service $(UNITS)/*.socket $(UNITS)/*.timer)); do \
		sed 's|/usr/local/bin|$(PREFIX)/bin|' $(UNITS)/$$unit > $(DESTDIR)$(UNIT_FOLDER)/$$unit; done

deb: build ## Build and check a package of Debian in .build, with binary, units and settings
	.ci/deb $(RELEASE)

# Targets whose tests need neither PostgreSQL nor a browser.
CHECK = ^(Basics|Command|EventLoop|HTTPFetch|HTTPServer|HTTPWire|Importing|Migrations|PushRegistry|$\
	PushRegistryClient|Receipts|RegistryAPI|StrictJSON|Telemetry)Tests\.
# Tests that run compilers and other languages.
PACKAGE = PushRegistryClientTests\.(Dependency|Platform|Sample)Tests
# Tests that need both cores: thousands of calls one after another, and hundreds at once. Those of the calendar move
# PostgreSQL's clock by libfaketime. That of metrics waits for a thread of the pool, which other tests block.
ALONE = MetricsTextTests|CalendarTests|ManyRacesTests|MassExpiryTests|PermutationTests|EndToEndTests\.ModelTests

check: packages ## Run the tests that need neither PostgreSQL nor a browser: what to run while working
	.ci/tests --filter '$(CHECK)' --skip '$(PACKAGE)'

# Only tests of the console need a browser. They run alone: beside the races of other tests it takes all cores.
test: DEBIAN_PACKAGES += chromium chromium-driver libfaketime python3-pip openssl
test: packages .build/axe .build/canaille ## Run all tests, on throw-away PostgreSQL clusters and in Chromium
	.ci/tests --skip '^ConsoleTests\.|$(ALONE)|$(PACKAGE)'
	.ci/tests --skip-build --filter '$(ALONE)'
	.ci/tests --skip-build --filter '^ConsoleTests\.'

test-package: packages ## Build an app that depends on the client alone, check the client's types, and run the samples
	.ci/tests --filter '$(PACKAGE)'

AXE = axe-playwright-python==0.1.8
.build/axe: # axe-core, from PyPI, for tests of the console
	@mkdir -p $@.part && python3 -m pip download --quiet --no-deps --dest $@.part $(AXE) \
		&& python3 -m zipfile --extract $@.part/*.whl $@ && rm -rf $@.part \
		|| echo "axe-core cannot be fetched from PyPI: tests that need it are skipped"

CANAILLE = canaille[oidc,front,sqlite,server]==0.3.6
.build/canaille: # An identity provider, from PyPI, for tests of the console
	@rm -rf $@.part && mkdir -p .build && python3 -m pip install --quiet --target $@.part '$(CANAILLE)' \
		&& mv $@.part $@ || echo "Canaille cannot be fetched from PyPI: tests that need it are skipped"

test-citus: packages ## Run the end-to-end tests on a Citus cluster, if PostgreSQL has the extension
	@if test -f "$$(pg_config --pkglibdir)/citus.so"; then \
		PUSH_REGISTRY_TEST_CITUS=1 .ci/tests --filter '^EndToEndTests\.EndToEnd/'; \
	else \
		echo "SKIPPED: tests on Citus (PostgreSQL has no extension citus)"; \
		test -z "$$CI" || grep '^make test-citus:' .ci/allowed-skips; \
	fi

tsan: packages ## Run the engine's tests under Thread Sanitizer, in a separate build of the engine alone
	PUSH_REGISTRY_ENGINE=1 .ci/tests --sanitize=thread --scratch-path .build-tsan

soak: packages ## Run random calls beside faults until it is stopped (MINUTES=…: so long)
	PUSH_REGISTRY_TEST_SOAK=$(or $(MINUTES),0) .ci/tests --filter EndToEndTests.ModelTests

fuzz: build ## Run Schemathesis (from PyPI) against openapi.json for some minutes (EXAMPLES=100: longer)
	.ci/fuzz $(RELEASE)

mutants: packages ## Apply faults one at a time to a copy of the tree, and expect the tests to find them (NAMES=…)
	.ci/mutants $(NAMES)

bench: DEBIAN_PACKAGES += wrk
bench: packages ## Measure everything, for more than an hour (FLEET=…: less; QUICK=1: minutes; AGAINST=binary; CITUS=1)
	$(SWIFT) build $(RELEASE_FLAGS) --product push-registry
	$(SWIFT) build $(RELEASE_FLAGS) --product push-registry-bench
	.build/release/push-registry-bench $(if $(QUICK),--quick) $(if $(FLEET),--fleet $(FLEET)) \
		$(if $(HUMMINGBIRD),--with-hummingbird) $(if $(AGAINST),--against $(AGAINST)) $(if $(CITUS),--citus)

lint: ## Fail on a format fault, a long line, a cited rule without an entry, a dependency named twice, or SwiftNIO
	@.ci/text
	@.ci/mutants --check
	$(SWIFT) format lint --strict --recursive Package.swift Migrations Sources Tests
	@twice=$$(grep -o 'https://[^"]*' Package.swift | sort | uniq -d); \
	test -z "$$twice" || { echo "named twice in Package.swift: $$twice"; exit 1; }
	@twice=$$($(SWIFT) package show-dependencies --traits Server --format json | grep -oE '"url": *"[^"]*"' \
		| sed -E 's/\.git"$$/"/' | sort -u | sed -E 's:.*/([^/"]*)"$$:\1:' | sort | uniq -d); \
	test -z "$$twice" || { echo "resolved from two places: $$twice"; exit 1; }
	@! $(SWIFT) package show-dependencies --traits Server --format flatlist | grep -i 'swift-nio' \
		|| { echo "SwiftNIO must not come in, directly or through a dependency"; exit 1; }

chart sbom: DEBIAN_PACKAGES += python3-pip
chart: packages .build/helm ## Render the Helm chart with Helm's own engine, and check the objects
	@if test -d .build/helm; then .ci/chart .build/helm; else \
		echo "SKIPPED: the Helm chart (packages cannot be fetched from PyPI)"; \
		test -z "$$CI" || grep '^make chart:' .ci/allowed-skips; \
	fi

sbom: DEBIAN_PACKAGES += libcurl4 libxml2
sbom: packages .build/spdx ## List all that the image contains, as SPDX in .build/push-registry.spdx.json, and check it
	@$(SWIFT) package show-dependencies --traits Server --format flatlist >/dev/null
	@.ci/sbom .build/push-registry.spdx.json .build/spdx
	@test -d .build/spdx || { echo "SKIPPED: the check of the SBOM (spdx-tools cannot be fetched from PyPI)"; \
		test -z "$$CI" || grep '^make sbom:' .ci/allowed-skips; }

# Helm as a library and the schemas of Kubernetes; a check of SBOMs.
.build/helm: PYTHON_PACKAGES = helm-python-sdk==0.2.2 kubernetes-validate==1.37.0
.build/spdx: PYTHON_PACKAGES = spdx-tools==0.8.5
.build/helm .build/spdx: # From PyPI
	@rm -rf $@.part && mkdir -p .build && python3 -m pip install --quiet --target $@.part $(PYTHON_PACKAGES) \
		&& mv $@.part $@ || echo "$(PYTHON_PACKAGES) cannot be fetched from PyPI"

docs: ## Build the documentation as a web site, into .build/documentation
	.ci/docs .build/documentation

format: ## Format all Swift files
	$(SWIFT) format --in-place --recursive Package.swift Migrations Sources Tests

packages: # Install missing Debian packages; only this needs root
	@missing=""; for name in $(DEBIAN_PACKAGES); do \
		dpkg-query -W -f '$${Status}' $$name 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$name"; done; \
	if [ -n "$$missing" ]; then \
		if [ "$$(id -u)" = 0 ]; then apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $$missing; \
		else echo "Missing packages. Run: sudo apt-get install$$missing"; exit 1; fi; fi
	@command -v $(SWIFT) >/dev/null || { echo "Swift 6.3 is missing: see https://www.swift.org/install/linux/"; exit 1; }

clean: ## Remove all builds
	rm -rf .build .build-*
