/**
 * How one shell per command can feel like one shell for the whole conversation: a command begins by reading the variables, functions
 * and aliases that the last one left in a file, and ends by writing its own to another file. A command that crashes or is killed leaves
 * nothing, and so cannot harm the next one. The scripts are plain text, so that a container or another machine can run them too.
 */
export interface StatefulCommand {
  readonly command: string
  /** bash keeps everything; any other shell only the directory. */
  readonly shell: "bash" | "sh"
  readonly cwd: string
  /** The file that the last command or the snapshot left; nothing is read where it is missing. */
  readonly from?: string | undefined
  /** The file to leave the state in. The directory goes into the same name with `.cwd`; it is written last, so it ends the state. */
  readonly to?: string | undefined
  /** With `to`: the directory is also printed at the end of the output, between two of these. */
  readonly marker?: string | undefined
  /** Exported after everything else, whatever the state says. */
  readonly variables?: Readonly<Record<string, string>>
  /** What the command says to its standard error is told apart from the rest. */
  readonly keepsErrorsApart?: boolean
  /** Only bash: the script prepares everything and leaves the command for `RUN_PREPARED`, which follows in the same shell. */
  readonly isPrepared?: boolean
}

/** The script that runs the command; its exit code is the command's, or 126 when the directory cannot be entered. */
export function statefulScript(options: StatefulCommand): string {
  return options.shell === "bash" ? bashScript(options) : plainScript(options)
}

export interface SnapshotOptions {
  /** Sourced in this order where they can be read; `~/` is the home directory. */
  readonly files: readonly string[]
  readonly to: string
  /** Shell patterns of the variables that the files may add; without it they may add any. */
  readonly keep?: readonly string[] | undefined
  /** Variables that the files may not change. */
  readonly fixed?: Readonly<Record<string, string>>
}

/** The script that reads the person's start-up files once, in a fresh bash, and leaves what they set up. It says nothing. */
export function snapshotScript({ files, to, keep, fixed = {} }: SnapshotOptions): string {
  const leave = leaveBash([
    MERGE_PATH,
    ...(keep === undefined ? [] : [dropVariables(to, keep)]),
    ...Object.entries(fixed).map(([name, value]) => `export ${name}=${quote(value)}`),
    writeState(to),
    writeDirectory(to, undefined),
  ])
  return [
    "exec </dev/null >/dev/null 2>&1",
    "__hermes_path=$PATH",
    exportedNames(to, "__hermes_given"),
    // A start-up file may end the shell, so the state is written when the shell leaves, however it does.
    ...wayOutBy(leave),
    `${files.map((file) => `[[ ! -r ${quotePath(file)} ]] || . ${quotePath(file)}`).join("; ")}\n${WAY_OUT}`,
  ].join("; ")
}

/** What a command reported about its end. */
export function readStateDirectory(cwdFile: string): string | undefined {
  return cwdFile.endsWith("\n\0") ? cwdFile.slice(0, -2) : undefined
}

/** A word that stands for itself in every shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function quotePath(path: string): string {
  return path.startsWith("~/") ? `"$HOME"/${quote(path.slice(2))}` : quote(path)
}

/** All on one line, so that line numbers in the shell's messages are those of the command. */
function bashScript(options: StatefulCommand): string {
  const { command, cwd, from, to, marker, variables = {}, isPrepared } = options
  const leave = to === undefined ? undefined : leaveBash([writeState(to), writeDirectory(to, marker)])
  return [
    ...(to === undefined ? [] : [`: >|${quote(`${to}.cwd`)}`]),
    ...oneStream(options),
    ...(from === undefined ? [] : [readState(from, to)]),
    "__hermes_old=$OLDPWD",
    `builtin cd -- ${quote(cwd)} || builtin exit 126`,
    "OLDPWD=$__hermes_old",
    "unset -v __hermes_old __hermes_names",
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(leave === undefined ? [] : wayOutBy(leave)),
    ...(isPrepared === true
      ? prepared(command, leave)
      : [`builtin eval ${quote(command)}${leave === undefined ? "" : AFTER_COMMAND}`]),
  ].join("; ")
}

/** Messages stand between the lines they belong to only where both go the same way. */
function oneStream({ keepsErrorsApart }: StatefulCommand): readonly string[] {
  return keepsErrorsApart === true ? [] : ["exec 2>&1"]
}

function prepared(command: string, leave: string | undefined): readonly string[] {
  return [...(leave === undefined ? ["__hermes_leave='__hermes_code=$?'"] : []), `__hermes_command=${quote(command)}`]
}

/** What the shell was given is taken away first: a variable that was unset must not come back. */
function readState(from: string, to: string | undefined): string {
  const names =
    to === undefined ? "builtin mapfile -t __hermes_names < <(compgen -e)" : exportedNames(to, "__hermes_names")
  const forget = `unset -v "\${__hermes_names[@]}"`
  return `if [[ -s ${quote(from)} ]]; then { ${names}; ${forget}; builtin . ${quote(from)}; } 2>/dev/null; fi`
}

/** Without a subshell: starting one costs more than everything else here. */
function exportedNames(file: string, array: string): string {
  return `builtin compgen -e >|${quote(file)}; builtin mapfile -t ${array} <${quote(file)}`
}

/** The command may end the shell or set a trap of its own, so the way out is taken here and after the command, once. */
function wayOutBy(leave: string): readonly string[] {
  return [`__hermes_leave=${quote(leave)}`, `trap ${quote(WAY_OUT)} EXIT`]
}

/** Silent also under `set -x`; ends the shell with the code the command had. */
const WAY_OUT = `{ builtin eval "$__hermes_leave"; } 2>/dev/null; builtin exit $__hermes_code`

/** The empty line is for a quote that the command left open: bash takes the first line break behind it for its end. */
const AFTER_COMMAND = `\n\n${WAY_OUT}`

/** Runs the command of a script with `isPrepared`, just as a script without it does. */
export const RUN_PREPARED = `builtin eval "$__hermes_command"${AFTER_COMMAND}`

/** Nothing here may depend on options, functions or aliases of the command. */
function leaveBash(steps: readonly string[]): string {
  return [
    "__hermes_code=$?",
    "builtin set +euxv",
    "builtin trap - DEBUG RETURN ERR",
    `if [[ -z $__hermes_left ]]; then __hermes_left=1; ${steps.join("; ")}; fi`,
  ].join("; ")
}

/**
 * Variables first and functions last: a function that cannot be read back must not hide the rest. Names with one leading underscore are
 * the innards of completions and are left out. Functions may hold patterns that only parse with extglob.
 */
function writeState(to: string): string {
  const file = quote(to)
  return [
    `builtin compgen -A function -X "_[!_]*" >|${file}`,
    `builtin mapfile -t __hermes_names <${file}`,
    "{ builtin declare -px",
    "builtin alias -p",
    `builtin echo "shopt -s expand_aliases extglob"`,
    `[[ \${#__hermes_names[@]} -eq 0 ]] || builtin declare -f -- "\${__hermes_names[@]}"`,
    "builtin declare -Fx",
    `builtin shopt -q extglob || builtin echo "shopt -u extglob"`,
    `builtin echo "set +e +u"`,
    `} >|${file} 2>/dev/null`,
  ].join("; ")
}

/** The directory as the system knows it; where it was removed, the name it had. */
function writeDirectory(to: string, marker: string | undefined): string {
  const file = quote(`${to}.cwd`)
  const write =
    `builtin pwd -P >|${file} 2>/dev/null || builtin printf "%s\\n" "$PWD" >|${file}; ` +
    `builtin printf "\\0" >>${file}`
  if (marker === undefined) return write
  const read = `IFS= builtin read -r -d "" __hermes_cwd <${file}`
  return `${write}; ${read}; builtin printf "%s" ${quote(marker)} "\${__hermes_cwd%?}" ${quote(marker)}`
}

/**
 * What the start-up files added to PATH comes first, then the PATH that was given, in its order: a login file that sets PATH anew must
 * not take away the environment somebody works in.
 */
const MERGE_PATH = [
  "__hermes_new=",
  `IFS=: builtin read -ra __hermes_names <<<"$PATH"`,
  `for __hermes_name in "\${__hermes_names[@]}"`,
  `do [[ ":$__hermes_new$__hermes_path:" == *:"$__hermes_name":* ]] || __hermes_new+=$__hermes_name:`,
  "done",
  "export PATH=$__hermes_new$__hermes_path",
].join("; ")

function dropVariables(file: string, keep: readonly string[]): string {
  return [
    exportedNames(file, "__hermes_names"),
    `__hermes_new=" \${__hermes_given[*]} "`,
    `for __hermes_name in "\${__hermes_names[@]}"`,
    `do [[ $__hermes_new == *" $__hermes_name "* ]] || case $__hermes_name in ${[...keep, "PATH"].join("|")}) ;; *) unset -v "$__hermes_name"; esac`,
    "done",
  ].join("; ")
}

function plainScript(options: StatefulCommand): string {
  const { command, cwd, to, marker, variables = {} } = options
  const file = to === undefined ? undefined : quote(`${to}.cwd`)
  const print =
    marker === undefined ? "" : `; printf %s ${quote(marker)} "$(pwd -P 2>/dev/null || echo "$PWD")" ${quote(marker)}`
  const leave =
    file === undefined
      ? undefined
      : `__hermes_code=$?; set +eux; trap - EXIT; { pwd -P || echo "$PWD"; printf "\\0"; } >|${file} 2>/dev/null${print}; exit $__hermes_code`
  return [
    ...oneStream(options),
    ...(file === undefined ? [] : [`: >|${file}`]),
    `cd -- ${quote(cwd)} || exit 126`,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(leave === undefined ? [] : [`trap ${quote(leave)} EXIT`]),
    `eval ${quote(command)}`,
  ].join("; ")
}
