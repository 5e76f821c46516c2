# zlaunch completions for fish

# Where the cursor is: behind which sub-command (`launch` without one), or `command` and the words of the command to launch.
function __zlaunch_place
    set -l words (commandline -opc)
    set -l place launch
    set -l at 2
    while test $at -le (count $words)
        set -l word $words[$at]
        switch $word
            case --
                set -l next (math $at + 1)
                printf '%s\n' command $words[$next..-1]
                return
            case @VALUED@
                set at (math $at + 1)
            case '-*'
            case '*'
                if test $at -eq 2; and contains -- $word @NAMES@
                    set place $word
                else if contains -- $place launch check doctor fit
                    printf '%s\n' command $words[$at..-1]
                    return
                end
        end
        set at (math $at + 1)
    end
    echo $place
end

function __zlaunch_at
    set -l place (__zlaunch_place)
    contains -- $place[1] $argv
end

function __zlaunch_first
    test (count (commandline -opc)) -eq 1
end

function __zlaunch_command
    set -l place (__zlaunch_place)
    set -l words (string escape -- $place[2..-1]) (commandline -ct)
    complete -C (string join -- ' ' $words)
end

# The folders said in this command.
function __zlaunch_folders
    set -l words (commandline -opc)
    for at in (seq (count $words))
        switch $words[$at]
            case --template-dir
                set -l next (math $at + 1)
                printf '%s\n' --template-dir (string replace -r '^~' -- $HOME $words[$next])
            case '--template-dir=*'
                echo $words[$at]
        end
    end
end

function __zlaunch_templates
    zlaunch completions templates (__zlaunch_folders) 2>/dev/null
end

function __zlaunch_formats
    printf '%s\n' text json
    __zlaunch_at launch; and echo shell
end

# The keys of a config up to the next dot.
function __zlaunch_keys
    zlaunch completions keys (commandline -ct | string replace -r '^--[a-z]*=' '') 2>/dev/null
end

function __zlaunch_set
    __zlaunch_keys | string replace -r '([^.])$' '$1='
end

# A command is only looked for when it has begun: nothing but ours stands behind `zlaunch`.
function __zlaunch_wants_command
    __zlaunch_at launch check doctor fit; and test -n (commandline -ct)
end

function __zlaunch_subjects
    zlaunch completions subjects (__zlaunch_folders) 2>/dev/null
end

complete -c zlaunch -n '__zlaunch_at command' -x -a '(__zlaunch_command)'
complete -c zlaunch -n '__zlaunch_at launch check doctor fit' -f
complete -c zlaunch -n __zlaunch_wants_command -x -a '(__fish_complete_command)'
complete -c zlaunch -n '__zlaunch_at diff' -F -a '(__zlaunch_templates)'
complete -c zlaunch -n '__zlaunch_at help' -x -a '@NAMES@'
complete -c zlaunch -n '__zlaunch_at templates' -x -a '(__zlaunch_templates)'
complete -c zlaunch -n '__zlaunch_at explain' -x -a '(__zlaunch_subjects)'
complete -c zlaunch -n '__zlaunch_at generate completions' -f
complete -c zlaunch -n '__zlaunch_at shims' -x -a '(__fish_complete_directories)'
complete -c zlaunch -n '__zlaunch_at shims' -a '@ACTIONS@'
complete -c zlaunch -n '__zlaunch_at completions' -a '@SHELLS@'
