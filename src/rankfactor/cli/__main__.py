"""``python -m rankfactor.cli``, the former name of ``python -m rankfactor``."""

from rankfactor.cli.start import main

if __name__ == "__main__":
    main()
