"""``python -m rankfactor``, for when the program ``rankfactor`` is not on the path."""

from rankfactor.cli.start import main

if __name__ == "__main__":
    main()
