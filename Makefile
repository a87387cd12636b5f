# Thin names for the commands of scripts/book.py, which also work without make.
PYTHON ?= python3
SIZE ?= book

.PHONY: book test serve lab clean
book:
	$(PYTHON) scripts/book.py build --size $(SIZE)
test:
	$(PYTHON) scripts/book.py test
serve lab clean:
	$(PYTHON) scripts/book.py $@
