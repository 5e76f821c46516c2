# zlaunch completions for bash

_zlaunch_reply() {
    mapfile -t COMPREPLY < <(compgen "$@" -- "$word")
}

_zlaunch_templates() {
    zlaunch completions templates "${folders[@]}" 2>/dev/null
}

# The keys of a config up to the next dot; $1 stands behind a whole one.
_zlaunch_keys() {
    local at
    mapfile -t COMPREPLY < <(zlaunch completions keys "$word" 2>/dev/null)
    for at in "${!COMPREPLY[@]}"; do
        [[ ${COMPREPLY[at]} == *. ]] || COMPREPLY[at]+=$1
    done
    compopt -o nospace 2>/dev/null
}

_zlaunch_subjects() {
    zlaunch completions subjects "${folders[@]}" 2>/dev/null
}

# The words from here on are another command's.
_zlaunch_command() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        _zlaunch_reply -c
    else
        compopt -o default
    fi
}

_zlaunch() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} place=launch at option
    local -a folders=()
    COMPREPLY=()
    # `--name=value` is three words here.
    if [[ $word == = ]]; then
        word=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        option=${COMP_WORDS[at]}
        case $at:$option in
        *:--)
            _zlaunch_command $((at + 1))
            return
            ;;
        *:-*)
            case $option in
            @VALUED@)
                ((at++))
                [[ ${COMP_WORDS[at]} == = ]] && ((at++))
                [[ $option == --template-dir ]] && folders+=("$option" "${COMP_WORDS[at]/#\~/$HOME}")
                ;;
            esac
            ;;
        1:@COMMANDS@) place=$option ;;
        *)
            case $place in
            launch | check | doctor | fit)
                _zlaunch_command "$at"
                return
                ;;
            esac
            ;;
        esac
    done
    local formats='text json'
    [[ $place == launch ]] && formats+=' shell'
    case $before in
@VALUES@    esac
    if [[ $word == -* ]]; then
        case $place in
@OPTIONS@        esac
        return
    fi
    case $place in
    launch)
        ((COMP_CWORD == 1)) && _zlaunch_reply -W '@SUBCOMMANDS@'
        [[ -n $word && ${#COMPREPLY[@]} -eq 0 ]] && _zlaunch_reply -c
        ;;
    check | doctor | fit) [[ -n $word ]] && _zlaunch_reply -c ;;
    diff) _zlaunch_reply -W "$(_zlaunch_templates)" -f ;;
    help) _zlaunch_reply -W '@SUBCOMMANDS@' ;;
    templates) _zlaunch_reply -W "$(_zlaunch_templates)" ;;
    explain) _zlaunch_reply -W "$(_zlaunch_subjects)" ;;
    shims) if ((COMP_CWORD == 2)); then _zlaunch_reply -W '@ACTIONS@'; else _zlaunch_reply -d; fi ;;
    completions) _zlaunch_reply -W '@SHELLS@' ;;
    esac
}

complete -o filenames -F _zlaunch zlaunch
