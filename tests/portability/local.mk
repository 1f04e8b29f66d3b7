# The README's commands on fresh systems; needs root and debootstrap, and says so where it skips.
EXTRA_DIST += tests/portability/debian.sh tests/portability/package.sh tests/portability/slurm.sh
TESTS += tests/portability/slurm.sh
check-debian:
	@status=0; for release in bookworm trixie; do \
	    bash $(srcdir)/tests/portability/debian.sh $$release || { status=$$?; [ $$status = 77 ] || exit $$status; }; \
	done
# Debian's packages, built, examined, installed and tested on a fresh Debian 12 (a quarter of an hour).
check-package:
	@bash $(srcdir)/tests/portability/debian.sh bookworm tests/portability/package.sh || { status=$$?; [ $$status = 77 ] || exit $$status; }
long_checks += check-package
.PHONY: check-debian check-package
