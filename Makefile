# Thin names for the commands of scripts/book.py, which also work without make.
PYTHON ?= python3
SIZE ?= book

.PHONY: book pdf test test-oldest coverage serve lab clean
book:
	$(PYTHON) scripts/book.py build --size $(SIZE)
pdf:
	$(PYTHON) scripts/book.py pdf --size $(SIZE)
test:
	$(PYTHON) scripts/book.py test
test-oldest coverage serve lab clean:
	$(PYTHON) scripts/book.py $@
