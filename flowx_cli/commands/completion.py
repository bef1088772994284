"""`flowx completion`: what a shell needs to complete the command's words."""

from __future__ import annotations

import click


@click.command("completion", short_help="Print what makes a shell complete flowx: bash, zsh or fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    bash: `eval "$(flowx completion bash)"` in ~/.bashrc. zsh: the same with zsh in ~/.zshrc. fish: write it to
    ~/.config/fish/completions/flowx.fish.
    """
    from click.shell_completion import get_completion_class

    from flowx_cli.__main__ import flowx

    known = get_completion_class(shell)
    assert known is not None, "click knows the shells that the argument lets through"
    script = known(flowx, {}, "flowx", "_FLOWX_COMPLETE")
    # Not `source()`, which starts the shell to ask for its version.
    click.echo(script.source_template % script.source_vars())
