"""`icl compare` among the press's commands: its words are handed on to the library, which has it alone, too."""

import click


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def compare(arguments):
    """Say which algorithm a model of your own is, and write a page about it; --help tells more.

    \f
    Raises InputError as `icl.comparison.command.main`.
    """
    from icl.comparison import command  # SciPy and matplotlib take a while to import

    command.main(arguments)
