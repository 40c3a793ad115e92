"""Where a job's words may follow a script, and where the shell would run them as a command."""

import subprocess
from pathlib import Path

import pytest

from rota.engine.executors.bash.shell_tail import why_no_words

TAKES_WORDS = [
    "ls -l",
    "ls -l  \n",
    "echo a; echo b",
    "cd /tmp && ls",
    "ls | sort",
    "A=1 B=$(echo 1 2) env -i echo",
    "echo 2>&1 >/dev/null",
    "echo &>/dev/null",
    "echo 'a # b; c' \"; $(echo ')' ;)\"",
    "# what it does\necho x",
    "echo $((1 + 2)) ${HOME:-a;b} $'it\\'s'",
    "echo a\\;b \\\n c",
    "exec echo",
    "$HOME/bin/run",
    "if true; then echo yes; fi; echo",
    "echo done",
    "cat <(echo a)",
    "f() { echo; }; f",
    "case x in x) echo;; esac; echo",
    "time echo",
    "time -p echo",
    "exec -c echo",
    "command -p echo",
    'echo "${NONE[@]}"',
    'A=1 "echo"',
    "echo a#b",
    "cat <<< text",
    "printf '%s '",
    "printf -- '%s '",
    "nohup echo",
    "nice -n 10 echo",
    "timeout 5s echo",
    "env -i A=1 echo",
]
TAKES_NO_WORDS = [
    "time -p",
    "time -p --",
    "exec -c",
    "exec -l",
    "exec -a name",
    'exec "-c"',
    "exec $OPTION",
    "command",
    "command -p",
    "builtin",
    "eval",
    "trap",
    *[
        "source",
        ".",
        "let",
        "declare",
        "typeset",
        "local",
        "readonly",
        "export",
        "unset",
        "read",
        "mapfile",
        "readarray",
        "test",
        "[",
        "[[",
        "wait",
        "getopts",
    ],
    *["enable", "compgen", "complete", "bind", "jobs", "fc", "hash", "printf"],
    "printf $FORMAT",
    "command declare -i",
    "env",
    "env -i A=1",
    "nohup",
    "nice -n 10",
    "timeout 5s",
    "xargs -0",
    "A=1 nohup",
    "A[0]=1",
    "A[B[0]]=1",
    "A[1 + 2]=3",
    "A[$(echo 1)]=2 B[x y]=3",
    '"${NONE[@]}"',
    '"${@:9}"',
    'A=1 "${NONE[@]}"',
    "ls;",
    "ls &",
    "ls |",
    "ls &&",
    "ls\n;",
    "A=1",
    "A=$(date +%s)",
    'A="$(echo "a;b")"',
    "A=${x:-a;b}",
    "A=`echo a; echo b`",
    "A=(1 2)",
    ">/dev/null",
    "2>/dev/null > /dev/null",
    "exec 3>&1",
    "ls # everything",
    "ls; # everything",
    "if true; then",
    "if true; then ls; fi",
    "for i in a; do ls; done",
    "while true; do",
    "{ ls; }",
    "(ls)",
    "! ",
    "time",
    "ls \\",
    "$COMMAND",
    "$COMMAND >/dev/null",
    "${COMMAND}",
    "$(echo)",
    "f() { ls; }",
    "cat <<EOF\ntext\nEOF",
    "case x in x)",
    "echo 'open",
    'echo "open',
    "echo $(open",
    "",
]


@pytest.mark.parametrize("script", TAKES_WORDS)
def test_words_may_follow_a_command(script: str) -> None:
    assert why_no_words(script) is None


@pytest.mark.parametrize("script", TAKES_NO_WORDS)
def test_words_may_not_follow_where_they_would_be_lost_or_run(script: str) -> None:
    assert why_no_words(script) is not None


@pytest.mark.parametrize("script", TAKES_WORDS)
def test_bash_agrees_that_the_words_are_arguments(script: str, tmp_path: Path) -> None:
    argv = ["bash", "-c", f'{script.rstrip()} "$@"', "bash", "touch", str(tmp_path / "made")]

    subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=tmp_path)

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("script", TAKES_WORDS)
@pytest.mark.parametrize("first", ["-v", "a[$(touch made)]=1"])
def test_bash_agrees_that_no_word_is_taken_for_a_place_in_an_array(script: str, first: str, tmp_path: Path) -> None:
    argv = ["bash", "-c", f'{script.rstrip()} "$@"', "bash", first, "a[$(touch made)]", "x"]

    subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=tmp_path)

    assert not (tmp_path / "made").exists()
