# shellcheck shell=bash
# bash completion for sbx-exec, sbx-plan and sbx-job. What can be completed the tools on the PATH say themselves, asked with
# --completion (sbx-exec(1) has its form). Nothing that is still being typed is run.

# Asks a tool: the words behind its name (usage), the names of its options or commands, and for an option what its argument
# is called (args) and can be (values).
_sbx_ask() {
	local all arg value name
	{
		IFS= read -r usage
		while IFS=$'\t' read -r all _ arg value; do
			for name in $all; do
				names+=("$name")
				args[$name]=$arg
				values[$name]=$value
			done
		done
	} < <(command "$@" --completion 2>/dev/null)
}

_sbx_offer() {
	mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

# A policy: a built-in one, or a file, which is always written with a slash.
_sbx_policy() {
	[[ $cur == */* ]] || _sbx_offer -W "$1"
	((${#COMPREPLY[@]})) && return
	_sbx_offer -f -X '!*.json'
	[[ $cur == */* ]] || COMPREPLY=("${COMPREPLY[@]/#/./}")
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur")
	compopt -o filenames
}

# The argument of an option, of which value is there so far.
_sbx_argument() {
	local option=$1 value=$2

	case ${args[$option]} in
	"NAME|FILE") _sbx_policy "${values[$option]}" ;;
	NAME=VALUE)
		[[ $value == *=* ]] || _sbx_offer -e -S =
		compopt -o nospace
		;;
	NAME) if [[ ${values[$option]} ]]; then _sbx_offer -W "${values[$option]}"; else _sbx_offer -e; fi ;;
	DIR) compopt -o dirnames ;;
	*PATH | FILE* | SOCKET | *AT*) compopt -o default ;;
	*) _sbx_offer -W "${values[$option]}" ;;
	esac
}

# The jobs that a command of sbx-job can be about.
_sbx_jobs() {
	local states id state _

	case $1 in
	stop) states="starting running" ;;
	rm) states="ended lost damaged" ;;
	report) states=ended ;;
	*) states="starting running ended lost damaged" ;;
	esac
	_sbx_offer -W "$(command sbx-job list 2>/dev/null | while read -r id state _; do
		[[ " $states " == *" $state "* ]] && echo "$id"
	done)"
}

_sbx() {
	local usage='' cur rest=$COMP_LINE line i n=-1 at=1 option=''
	local -a words=() begins=() names=() tool=("${1##*/}")
	local -A args=() values=()

	# readline also splits at "=" and ":"; a word of the command line begins behind a blank.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		line=${rest#"${rest%%[![:space:]]*}"}
		((i)) && [[ $line == "$rest" ]] || begins[++n]=$i
		words[n]+=${COMP_WORDS[i]}
		rest=${line#"${COMP_WORDS[i]}"}
	done
	cur=${COMP_WORDS[COMP_CWORD]##*[=:]}
	COMPREPLY=()

	if [[ ${tool[0]} == sbx-job ]]; then
		if ((n == 1)); then
			_sbx_ask sbx-job
			[[ $cur == -* ]] || names=("${names[@]##-*}")
			_sbx_offer -W "${names[*]}"
			return
		fi
		[[ ${words[1]} == -* ]] && return
		tool+=("${words[1]}")
		at=2
	fi
	_sbx_ask "${tool[@]}"
	[[ $usage ]] || return

	# Past the options, to the word behind them or to the last one.
	for (( ; at < n; at++)); do
		case ${words[at]} in
		--)
			names=()
			((at++))
			break
			;;
		-*) [[ ${args[${words[at]}]-} ]] && ((++at == n)) && option=${words[at - 1]} ;;
		*) [[ $usage == *command* ]] && break ;;
		esac
	done
	((at == n && ${#names[@]})) && [[ ${words[n]} == --*=* ]] && option=${words[n]%%=*}

	if [[ $option ]]; then
		_sbx_argument "$option" "${words[n]#"$option="}"
	elif ((at >= n && ${#names[@]})) && [[ ${words[n]} == -* ]]; then
		_sbx_offer -W "${names[*]}"
	elif [[ $usage == *id* ]]; then
		_sbx_jobs "${words[1]}"
	elif [[ $usage != *command* ]]; then
		return
	elif declare -F _command_offset >/dev/null; then
		_command_offset "${begins[at]}"
	elif ((at == n)); then
		_sbx_offer -c
	else
		compopt -o default
	fi
}

complete -F _sbx sbx-exec sbx-plan sbx-job
