#compdef zlaunch
# zlaunch completions for zsh: a file `_zlaunch` in a folder of $fpath, or `source <(zlaunch completions zsh)` behind compinit.

# The folders said in this command.
_zlaunch_folders() {
    local at
    reply=()
    for ((at = 2; at < CURRENT; at++)); do
        case $words[at] in
        --template-dir) reply+=(--template-dir ${~words[at + 1]}) ;;
        --template-dir=*) reply+=($words[at]) ;;
        esac
    done
}

# Names stand at the beginnings of lines.
_zlaunch_templates() {
    local -a reply names
    _zlaunch_folders
    names=(${(f)"$(zlaunch templates $reply 2>/dev/null | grep -o '^[^ ][^ ]*')"})
    compadd -a names
}

_zlaunch_config() {
    compadd auto
    _zlaunch_templates
    _files
}

_zlaunch_formats() {
    compadd text json
    [[ $place == launch ]] && compadd shell
}

_zlaunch_record() {
    compadd auto
    _files -/
}

# The keys of a config up to the next dot.
_zlaunch_keys() {
    local -a names
    names=(${(f)"$(zlaunch completions keys 2>/dev/null | awk -v word="$PREFIX" '
        index($0, word) == 1 {
            at = index(substr($0, length(word) + 1), ".")
            print at ? substr($0, 1, length(word) + at) : $0
        }' | sort -u)"})
    compadd -S "$1" -a names
}

_zlaunch_set() {
    _zlaunch_keys ''
}

_zlaunch_subjects() {
    local -a reply names
    _zlaunch_folders
    names=(${(f)"$(zlaunch explain $reply 2>/dev/null | sed -n 's/^  *//p' | tr -s ', ' '\n' | grep -v '^[0-9]*$')"})
    compadd -a names
}

_zlaunch_first() {
    if ((CURRENT > 1)); then
        _normal
        return
    fi
    local -a known=(
@COMMANDS@    )
    ((is_first)) && _describe command known && return
    [[ -n $PREFIX ]] && _command_names -e
}

_zlaunch() {
    local is_first=0 place=launch
    if ((CURRENT > 2)) && [[ $words[2] == (@NAMES@) ]]; then
        place=$words[2]
        shift words
        ((CURRENT--))
    elif ((CURRENT == 2)); then
        is_first=1
    fi
    # What stands behind the first word of a command is the command's.
    case $place in
    launch)
        _arguments -S -A '-*' : \
@LAUNCH@            '*:::command:_zlaunch_first'
        ;;
    check)
        _arguments -S -A '-*' : \
@CHECK@            '*:::command:_zlaunch_first'
        ;;
    doctor)
        _arguments -S -A '-*' : \
@DOCTOR@            '*:::command:_zlaunch_first'
        ;;
    diff)
        _arguments : \
@DIFF@            '1:config:_zlaunch_config' '2:config:_zlaunch_config'
        ;;
    fit)
        _arguments -S -A '-*' : \
@FIT@            '*:::command:_zlaunch_first'
        ;;
    generate)
        _arguments : \
@GENERATE@            && return
        ;;
    templates)
        _arguments : \
@TEMPLATES@            '1:template:_zlaunch_templates'
        ;;
    explain)
        _arguments : \
@EXPLAIN@            '*:subject:_zlaunch_subjects'
        ;;
    replay)
        _arguments : \
@REPLAY@            '1:record:_files -/'
        ;;
    shims) _arguments : '1:action:(@ACTIONS@)' '2:folder:_files -/' ;;
    completions) _arguments : '1:shell:(@SHELLS@)' ;;
    help) _arguments : '1:command:(@WORDS@)' ;;
    esac
}

# Loaded by compinit this is the body of the function; sourced, it only has to be known.
if [[ $funcstack[1] == _zlaunch ]]; then
    _zlaunch "$@"
else
    compdef _zlaunch zlaunch
fi
