"""Files that rankfactor writes: written atomically, checked when read, without pickle."""
