#!/bin/sh
# zlaunch shim: whoever calls this program gets zlaunch in front of it. ZLAUNCH_SHIM=0 switches that off.
# `zlaunch shims install` puts it on PATH under the names of the trainers and launchers, `zlaunch shims remove` takes it away.

name=${0##*/}

# zlaunch passes over shims when it looks for the program. What that starts in its turn finds them switched off: it is
# part of this launch, not another one.
if [ "${ZLAUNCH_SHIM:-1}" != 0 ] && command -v zlaunch >/dev/null 2>&1; then
    ZLAUNCH_SHIM=0
    ZLAUNCH_SHIM_OF=$name
    export ZLAUNCH_SHIM ZLAUNCH_SHIM_OF
    exec zlaunch -- "$name" "$@"
fi

# The first program of this name that is no shim, however often and by whatever path their folder is on PATH.
left=$PATH:
while [ -n "$left" ]; do
    program=${left%%:*}
    program=${program:-.}/$name
    left=${left#*:}
    if [ -f "$program" ] && [ -x "$program" ]; then
        line=
        # A shell reads a line byte by byte, and a binary has long ones.
        { read -r line && [ "${line#\#!}" != "$line" ] && read -r line; } 2>/dev/null <"$program"
        case $line in
        "# zlaunch shim:"*) ;;
        *) exec "$program" "$@" ;;
        esac
    fi
done

printf '%s\n' "error[not-found]: \`$name\` is not on PATH" "  --> $name" "  help: activate the environment that has \`$name\`" >&2
exit 127
