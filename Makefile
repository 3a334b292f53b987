# Every target sets a fresh machine up by itself.
.PHONY: native install demo test check lint verify bench tokens eval soak chat docs fuzz dist

# The Rust side, into priv/. rebar3 runs this too, here and as a dependency.
native:
	@scripts/native

# The port program as the command beamai, with its man pages and completions, under PREFIX (by default ~/.local).
install: native
	@scripts/install

# The main job on this repository itself.
demo:
	@scripts/setup
	@scripts/demo

# Everything that continuous integration runs.
test:
	@scripts/setup test
	@scripts/with-tmpfs scripts/test

# The quick loop: format, clippy, unit tests of both languages.
check:
	@scripts/setup test
	@scripts/with-tmpfs scripts/check

# Long runs, and what others wrote to talk to us, before a release.
verify:
	@scripts/setup test
	@scripts/verify

# Formatting, lints, types: the quick part of the tests.
lint:
	@scripts/setup
	@scripts/lint

# Speed, always as a ratio against a peer in the same run.
bench:
	@scripts/setup
	@scripts/bench

# What answers cost a model in tokens, against the reference MCP servers and a plain shell in the same run.
tokens:
	@scripts/setup test
	@scripts/tokens

# Tasks done by the model that the environment names; without one, scripts that make models' mistakes. See docs/evaluation.md.
eval:
	@scripts/setup
	@scripts/eval

# Two minutes of calls, cancellations and kills, after which nothing may be left; SOAK_SECONDS sets the length.
soak:
	@scripts/setup
	@scripts/soak

# A chat at the terminal: with a model from the environment, or a tour.
chat:
	@scripts/setup
	@scripts/chat

# The API docs of the Erlang modules in _build/docs, and the tool reference in docs/tools.
docs:
	@scripts/setup test
	@scripts/docs

# The release archives, in dist/: the native parts for each target, with licences, an SBOM and checksums.
dist:
	@scripts/setup
	@scripts/dist

# New inputs for whatever reads bytes from elsewhere, a minute for each; see scripts/fuzz.
fuzz:
	@scripts/setup fuzz
	@scripts/fuzz
