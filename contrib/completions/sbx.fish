# fish completion for sbx-exec, sbx-plan and sbx-job, installed under the name of each. What can be completed the tools on
# the PATH say themselves, asked with --completion (sbx-exec(1) has its form). Nothing that is still being typed is run.

# Here $argv is a tool and, of sbx-job, its command. The words behind its options, ended by NULs; fails with 1 where an
# option or its argument is being typed, with 2 where it is not this command's line.
function __sbx_operands
    set -l last (commandline -ct)
    set -l words (commandline -opc) "$last"
    set -q argv[2]; and test "$words[2]" != "$argv[2]"; and return 2
    set -e words[1..(count $argv)]
    set -q words[1]; or return 2
    # Names and help; where there is a third field the option takes an argument.
    set -l taking (command $argv --completion 2>/dev/null | string replace -rf '^(-[^\t]*)\t[^\t]*\t.*' '$1' | string split ' ')
    while set -q words[2]
        switch $words[1]
            case --
                string join0 -- $words[2..-1]
                return 0
            case '-*'
                contains -- $words[1] $taking; and set -e words[1]
                set -e words[1]
            case '*'
                break
        end
    end
    not set -q words[1]; or string match -q -- '-*' "$words[1]"; and return 1
    string join0 -- $words
    return 0
end

function __sbx_at_option
    __sbx_operands $argv >/dev/null
    test $status = 1
end

function __sbx_command
    __fish_complete_subcommand --commandline (__sbx_operands $argv | string split0)
end

# A policy: a built-in one, or a file, which is always written with a slash.
function __sbx_policies
    printf '%s\tbuilt-in policy\n' $argv
    set -l last (commandline -ct)
    string match -q -- '*/*' "$last"; and __fish_complete_suffix .json
end

# The jobs that a command of sbx-job can be about.
function __sbx_jobs
    set -l states '\S+'
    switch $argv[2]
        case stop
            set states 'starting|running'
        case rm
            set states 'ended|lost|damaged'
        case report
            set states ended
    end
    command sbx-job list 2>/dev/null | string replace -rf "^(\S+) +(($states) .*)" '$1\t$2'
end

# Offers what there is of a tool, or of a command of sbx-job: its options, and what comes behind them.
function __sbx_complete
    command -q $argv[1]; or return
    set -l said (command $argv --completion 2>/dev/null)
    for line in $said[2..-1]
        set -l field (string split \t -- $line)
        set -l option
        if not string match -q -- '-*' $line
            complete -c $argv[1] -n 'test (count (commandline -opc)) = 1' -x -a $field[1] -d $field[2]
            __sbx_complete $argv[1] $field[1]
            continue
        end
        for name in (string split ' ' -- $field[1])
            string match -q -- '--*' $name
            and set -a option -l (string sub -s 3 -- $name)
            or set -a option -s (string sub -s 2 -- $name)
        end
        switch "$field[3]"
            case ''
            case 'NAME|FILE'
                set -a option -x -a "(__sbx_policies $field[4])"
            case NAME=VALUE
                set -a option -x -a '(set --names -x)='
            case DIR
                set -a option -x -a '(__fish_complete_directories)'
            case '*PATH' 'FILE*' SOCKET '*AT*'
                set -a option -r -F
            case NAME
                set -q field[4]; or set -a field '(set --names -x)'
                set -a option -x -a $field[4]
            case '*'
                set -a option -x -a "$field[4]"
        end
        complete -c $argv[1] -n "__sbx_at_option $argv" $option -d $field[2]
    end
    set -l behind -c $argv[1] -n "__sbx_operands $argv >/dev/null" -x
    switch "$said[1]"
        case '*id*'
            complete $behind -k -a "(__sbx_jobs $argv)"
        case '*] command*'
            complete $behind -a "(__sbx_command $argv)"
        case '*'
            complete $behind
    end
end

__sbx_complete (string replace .fish '' (status basename))
