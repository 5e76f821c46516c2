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

_zlaunch_templates() {
    local -a reply names
    _zlaunch_folders
    names=(${(f)"$(zlaunch completions templates $reply 2>/dev/null)"})
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

# The keys of a config up to the next dot; the words given are compadd's for a whole one.
_zlaunch_keys() {
    local -a names sections
    names=(${(f)"$(zlaunch completions keys "$PREFIX" 2>/dev/null)"})
    sections=(${(M)names:#*.})
    names=(${names:#*.})
    compadd -S '' -a sections
    compadd "$@" -a names
}

_zlaunch_set() {
    _zlaunch_keys -S '='
}

_zlaunch_subjects() {
    local -a reply names
    _zlaunch_folders
    names=(${(f)"$(zlaunch completions subjects $reply 2>/dev/null)"})
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
