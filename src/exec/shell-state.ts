import { quoteForShell } from "../base/quote-for-shell.ts"

/**
 * Makes one shell per command behave like a single shell for the whole conversation: a command first sources the variables, functions and
 * aliases that the previous one left in a file, and finally writes its own to another file. A command that crashes or is killed leaves no
 * state, so it cannot damage the next one. The scripts are plain text, so containers and other machines can run them too.
 */
export interface StatefulCommand {
  readonly command: string
  /** bash keeps the whole state, any other shell only the directory. */
  readonly shell: "bash" | "sh"
  readonly cwd: string
  /** State file of the previous command or of the start-up snapshot; skipped when it does not exist. */
  readonly from?: string | undefined
  /** State file to write. The directory goes to `<to>.cwd`, which is written last, so its presence means that the state is complete. */
  readonly to?: string | undefined
  /** With `to`: also prints the directory at the end of the output, between two copies of this text. */
  readonly marker?: string | undefined
  /** Exported last, overriding the state. */
  readonly variables?: Readonly<Record<string, string>>
  /** Keeps stderr separate instead of merging it into stdout. */
  readonly separateStderr?: boolean
  /** bash only: the script prepares the shell but does not run the command; `RUN_PREPARED_COMMAND` runs it in the same shell. */
  readonly prepareOnly?: boolean
}

/** Returns the script that runs the command. It exits with the command's code, or with 126 when the directory cannot be entered. */
export function statefulScript(options: StatefulCommand): string {
  return options.shell === "bash" ? bashScript(options) : plainScript(options)
}

export interface SnapshotOptions {
  /** Sourced in this order if readable; `~/` is the home directory. */
  readonly files: readonly string[]
  readonly to: string
  /** Shell patterns of the variables that the files may add; any when undefined. */
  readonly keep?: readonly string[] | undefined
  /** Variables that the files may not change. */
  readonly fixed?: Readonly<Record<string, string>>
}

/** Returns the script that sources the user's start-up files in a fresh bash and writes the resulting state. It prints nothing. */
export function snapshotScript({ files, to, keep, fixed = {} }: SnapshotOptions): string {
  const onExit = exitHandler([
    MERGE_PATH,
    ...(keep === undefined ? [] : [dropVariables(to, keep)]),
    ...Object.entries(fixed).map(([name, value]) => `export ${name}=${quoteForShell(value)}`),
    writeState(to),
    writeDirectory(to, undefined),
  ])
  return [
    "exec </dev/null >/dev/null 2>&1",
    "__hermes_path=$PATH",
    exportedNames(to, "__hermes_given"),
    // A start-up file may exit the shell, so an exit trap writes the state.
    ...installExitTrap(onExit),
    `${files.map((file) => `[[ ! -r ${quotePath(file)} ]] || . ${quotePath(file)}`).join("; ")}\n${EXIT_WITH_HANDLER}`,
  ].join("; ")
}

/** Parses a `.cwd` file; undefined when it is incomplete. */
export function readStateDirectory(cwdFile: string): string | undefined {
  return cwdFile.endsWith("\n\0") ? cwdFile.slice(0, -2) : undefined
}

function quotePath(path: string): string {
  return path.startsWith("~/") ? `"$HOME"/${quoteForShell(path.slice(2))}` : quoteForShell(path)
}

/** On one line, so that line numbers in the shell's error messages are those of the command. */
function bashScript(options: StatefulCommand): string {
  const { command, cwd, from, to, marker, variables = {}, prepareOnly } = options
  const onExit = to === undefined ? undefined : exitHandler([writeState(to), writeDirectory(to, marker)])
  return [
    ...(to === undefined ? [] : [`: >|${quoteForShell(`${to}.cwd`)}`]),
    ...mergeStreams(options),
    ...(from === undefined ? [] : [readState(from, to)]),
    "__hermes_old=$OLDPWD",
    `builtin cd -- ${quoteForShell(cwd)} || builtin exit 126`,
    "OLDPWD=$__hermes_old",
    "unset -v __hermes_old __hermes_names",
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoteForShell(value)}`),
    ...(onExit === undefined ? [] : installExitTrap(onExit)),
    ...(prepareOnly === true
      ? storeCommand(command, onExit)
      : [`builtin eval ${quoteForShell(command)}${onExit === undefined ? "" : AFTER_COMMAND}`]),
  ].join("; ")
}

/** Only a single stream keeps stdout and stderr in the order they were written. */
function mergeStreams({ separateStderr }: StatefulCommand): readonly string[] {
  return separateStderr === true ? [] : ["exec 2>&1"]
}

function storeCommand(command: string, onExit: string | undefined): readonly string[] {
  return [
    ...(onExit === undefined ? ["__hermes_on_exit='__hermes_code=$?'"] : []),
    `__hermes_command=${quoteForShell(command)}`,
  ]
}

/** Unsets the inherited variables first: a variable that a command has unset must not come back. */
function readState(from: string, to: string | undefined): string {
  const names =
    to === undefined ? "builtin mapfile -t __hermes_names < <(compgen -e)" : exportedNames(to, "__hermes_names")
  const unset = `unset -v "\${__hermes_names[@]}"`
  return `if [[ -s ${quoteForShell(from)} ]]; then { ${names}; ${unset}; builtin . ${quoteForShell(from)}; } 2>/dev/null; fi`
}

/** Reads names through a file because a subshell would cost more than the rest of the script. */
function exportedNames(file: string, array: string): string {
  return `builtin compgen -e >|${quoteForShell(file)}; builtin mapfile -t ${array} <${quoteForShell(file)}`
}

/** The command may exit the shell or replace the trap, so the handler is called both from the trap and after the command; it runs once. */
function installExitTrap(onExit: string): readonly string[] {
  return [`__hermes_on_exit=${quoteForShell(onExit)}`, `trap ${quoteForShell(EXIT_WITH_HANDLER)} EXIT`]
}

/** Silent even under `set -x`. Exits the shell with the command's exit code. */
const EXIT_WITH_HANDLER = `{ builtin eval "$__hermes_on_exit"; } 2>/dev/null; builtin exit $__hermes_code`

/** The empty line closes a quote that the command left open: bash ends it at the first line break. */
const AFTER_COMMAND = `\n\n${EXIT_WITH_HANDLER}`

/** Runs the command that a script with `prepareOnly` has stored. */
export const RUN_PREPARED_COMMAND = `builtin eval "$__hermes_command"${AFTER_COMMAND}`

/** Must not depend on shell options, functions or aliases that the command has changed. */
function exitHandler(steps: readonly string[]): string {
  return [
    "__hermes_code=$?",
    "builtin set +aeuxv",
    // With `set -a`, bash exported it.
    "builtin export -n __hermes_code",
    "builtin trap - DEBUG RETURN ERR",
    `if [[ -z $__hermes_left ]]; then __hermes_left=1; ${steps.join("; ")}; fi`,
  ].join("; ")
}

/**
 * Writes variables first and functions last: a function that cannot be parsed again must not hide the rest. Skips names with a single
 * leading underscore, which are internals of completions. Enables extglob because functions may contain patterns that need it to parse.
 */
function writeState(to: string): string {
  const file = quoteForShell(to)
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

/** Writes the physical directory, or `$PWD` when the directory was removed. */
function writeDirectory(to: string, marker: string | undefined): string {
  const file = quoteForShell(`${to}.cwd`)
  const write =
    `builtin pwd -P >|${file} 2>/dev/null || builtin printf "%s\\n" "$PWD" >|${file}; ` +
    `builtin printf "\\0" >>${file}`
  if (marker === undefined) return write
  const read = `IFS= builtin read -r -d "" __hermes_cwd <${file}`
  return `${write}; ${read}; builtin printf "%s" ${quoteForShell(marker)} "\${__hermes_cwd%?}" ${quoteForShell(marker)}`
}

/**
 * Puts what the start-up files added to PATH before the inherited PATH. A login file that overwrites PATH must not hide the inherited
 * one, for example an active virtual environment.
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
  const file = to === undefined ? undefined : quoteForShell(`${to}.cwd`)
  const print =
    marker === undefined
      ? ""
      : `; printf %s ${quoteForShell(marker)} "$(pwd -P 2>/dev/null || echo "$PWD")" ${quoteForShell(marker)}`
  const onExit =
    file === undefined
      ? undefined
      : `__hermes_code=$?; set +eux; trap - EXIT; { pwd -P || echo "$PWD"; printf "\\0"; } >|${file} 2>/dev/null${print}; exit $__hermes_code`
  return [
    ...mergeStreams(options),
    ...(file === undefined ? [] : [`: >|${file}`]),
    `cd -- ${quoteForShell(cwd)} || exit 126`,
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoteForShell(value)}`),
    ...(onExit === undefined ? [] : [`trap ${quoteForShell(onExit)} EXIT`]),
    `eval ${quoteForShell(command)}`,
  ].join("; ")
}
