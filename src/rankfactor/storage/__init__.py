"""Files that rankfactor writes: never half written, checked when read, without pickle."""
