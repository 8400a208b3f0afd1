"""Steps of the documentation build: pages made from the program, and formulas as MathML.

`mkdocs` calls the functions that begin with ``on_``. Formulas become MathML while the site is
built, so pages show them without a script, offline and in print. Browsers need a font with
mathematical metrics for it, and few systems have one: the site gets STIX Two Math, which the
package ziamath brings.
"""

import html
import importlib
import re
from importlib.resources import files as resources

import griffe
import typer
from latex2mathml.converter import convert
from mkdocs.structure.files import File

FONT = "STIXTwoMath-Regular.ttf"
PACKAGES = ("rankfactor", "interpret", "plots", "data", "evaluation")
# The sign of a number, and "distributed as", spaced as operators.
SPACING = {
    r"(<mo[^>]*>&#x000(?:28|3D|2C);</mo>)<mo>(&#x02212;)": r'\1<mo form="prefix">\2',
    r"<mi>&#x0007E;</mi>": "<mo>&#x0223C;</mo>",
}
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files, config):
    """Add the API pages, the page of commands and the font of formulas."""
    pages = {"reference/commands.md": command_page()}
    listed = set()
    pages |= {f"reference/api/{name}.md": api_page(name, listed) for name in PACKAGES}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    font = str(resources("ziamath") / "fonts" / FONT)
    files.append(File.generated(config, f"assets/{FONT}", abs_src_path=font))
    return files


def on_page_content(content, page, config, files):
    return FORMULA.sub(mathml, content)


def mathml(found):
    display = "block" if found[1] == "div" else "inline"
    formula = convert(html.unescape(found[2]).strip(), display=display)
    for pattern, spaced in SPACING.items():
        formula = re.sub(pattern, spaced, formula)
    return f'<div class="formula">{formula}</div>' if display == "block" else formula


def api_page(name, listed):
    """A heading per public name that is not ``listed`` yet; mkdocstrings fills in the rest."""
    package = name if name == "rankfactor" else f"rankfactor.{name}"
    module = importlib.import_module(package)
    parts = [f"# {package}", module.__doc__.split("\n\n")[0]]
    for public in module.__all__:
        if not public.startswith("_") and public not in listed:
            defined_in = getattr(getattr(module, public), "__module__", package)
            parts.append(f"::: {defined_in}.{public}")
    listed.update(module.__all__)
    return "\n\n".join(parts)


def command_page():
    """Every command with its arguments, options and defaults, as `--help` has them."""
    from rankfactor.cli import app

    parts = [
        "# Commands and options",
        "Generated from the program: `rankfactor COMMAND --help` prints the same. The "
        "[guide](command-line.md) explains the commands by task.",
    ]
    for name, command in typer.main.get_command(app).commands.items():
        parts += command_parts(f"rankfactor {name}", command)
    return "\n\n".join(parts)


def command_parts(name, command):
    parts = [f"## {name}", command.help]
    if command.epilog:
        parts.append(f"```console\n{command.epilog.removeprefix('Example: ')}\n```")
    context = typer.Context(command, info_name=name)
    records = [parameter.get_help_record(context) for parameter in command.params]
    lines = [f"| {code(term)} | {cell(text)} |" for term, text in filter(None, records)]
    if lines:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *lines]))
    for below, subcommand in getattr(command, "commands", {}).items():
        parts += command_parts(f"{name} {below}", subcommand)
    return parts


def code(text):
    return f"<code>{cell(text)}</code>"


def cell(text):
    return html.escape(text).replace("|", "&#124;").replace("*", "&#42;")


class BorrowedDocstrings(griffe.Extension):
    """``__doc__ = Other.__doc__`` in a class means the docstring of Other."""

    def on_package(self, *, pkg, **kwargs):
        for module in pkg["estimators"].modules.values():
            for one in module.classes.values():
                if "__doc__" in one.members and not one.is_alias:
                    lender = str(one.members["__doc__"].value).removesuffix(".__doc__")
                    one.docstring = one.module[lender].docstring
