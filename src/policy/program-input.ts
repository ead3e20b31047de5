import { posix } from "node:path"

import { isCredentialPath } from "./commands/credential-paths.ts"
import { CODE } from "./commands/command-rule.ts"
import type { CommandFacts, CommandFinding, Effect } from "./commands/command-verdict.ts"
import { programName } from "./commands/invocation.ts"
import { pathClass } from "./commands/path-classes.ts"
import { isWithin } from "./file-floor.ts"
import { understandCommand } from "./shell/understand-command.ts"
import type { ShellState, SimpleCommand } from "./shell/understood-command.ts"

/** A process as it was started. */
export interface StartedProcess {
  readonly command: string
  readonly directory: string
}

/**
 * What the input of a process becomes. `shell`: command lines. `code`: statements of a language or commands of an editor, debugger or
 * database. `data`: whatever the program makes of it, which may also be a shell.
 */
export interface InputReader {
  readonly kind: "shell" | "code" | "data"
  readonly program: string
}

/** The programs of a process that read its input, directly or through a pipeline. */
export function inputReaders({ command }: StartedProcess, state: ShellState, userHome: string): readonly InputReader[] {
  const { commands } = understandCommand(command, state, { userHome })
  const readers = commands.filter((one) => readsProcessInput(one, commands))
  return readers.length === 0 ? [{ kind: "data", program: "" }] : readers.flatMap(readersOf)
}

function readsProcessInput(command: SimpleCommand, commands: readonly SimpleCommand[]): boolean {
  let current: SimpleCommand | undefined = command
  for (let step = 0; current?.input?.kind === "command" && step < commands.length; step += 1)
    current = commands[current.input.index]
  return current?.input === undefined
}

function readersOf({ program = "", argv, wrappers, source }: SimpleCommand): readonly InputReader[] {
  const name = programName(program)
  const words = argv.slice(1).map(({ text }) => text)
  const starters = [name, ...wrappers.map((wrapper) => programName(wrapper.program))]
  const prompt = promptIn([name, ...words])
  const started: readonly InputReader[] = prompt === undefined ? [] : [{ kind: "code", program: prompt }]
  if (source === "remote" || starters.some((starter) => SHELL_STARTERS.test(starter)))
    return [{ kind: "shell", program: name }, ...started]
  if (SHELL_NAME.test(name)) return [{ kind: startsScript(words) ? "data" : "shell", program: name }]
  return prompt === name ? started : [{ kind: "data", program: name }, ...started]
}

/** The first program with a prompt: the command itself, or one that it starts, as in `rlwrap sqlite3`. */
function promptIn([name = "", ...words]: readonly string[]): string | undefined {
  if (isPrompt(name, words)) return name
  if (INTERPRETERS.test(name)) return undefined
  const at = words.findIndex((word, index) => word.length > 1 && isPrompt(programName(word), words.slice(index + 1)))
  return at === -1 ? undefined : programName(words[at] ?? "")
}

/** `bash`, `bash -i` and `bash -s` read commands; `bash script.sh` runs a program that reads something. */
function startsScript(words: readonly string[]): boolean {
  return !words.some((word) => /^-[a-z]*s/u.test(word)) && words.some((word) => !/^[-+]/u.test(word))
}

function isPrompt(name: string, words: readonly string[]): boolean {
  if (PROMPTS.test(name)) return true
  if (!INTERPRETERS.test(name)) return false
  const isInteractive = words.some((word) => /^-(?:[a-zA-Z]*[ia]|de\d?)$|^--interactive$/u.test(word))
  const [first] = words.filter((word) => !/^-(?![cm]$)/u.test(word))
  return isInteractive || first === undefined || first === "-" || PROMPT_MODULES.test(words.join(" "))
}

const SHELL_NAME = /^(?:ba|z|k|mk|da|a|fi|c|tc|rba)?sh$|^(?:nu|xonsh|elvish|pwsh)$/u
/** They open a shell, here or elsewhere. */
const SHELL_STARTERS =
  /^(?:ssh|mosh|telnet|docker|podman|nerdctl|kubectl|oc|lxc|machinectl|su|sudo|doas|login|script|screen|tmux|zellij|nix-shell|nix|chroot|unshare|nsenter|vagrant|wsl|distrobox|toolbox)$/u
const INTERPRETERS =
  /^(?:python[\d.]*|pypy3?|node|nodejs|deno|bun|ruby|perl|php|lua[\d.]*|luajit|r|rscript|julia|tclsh|guile|racket|ocaml|scala|groovy|clojure|clj|sbcl|clisp|swipl|erl|octave|gnuplot|maxima|gp|m4|bc|dc|ts-node|tsx|rails)$/u
const PROMPTS =
  /^(?:i?python[\d.]*-?repl|ipython[\d.]*|bpython|ptpython|irb|pry|iex|ghci|jshell|psql|pgcli|mysql|mariadb|mycli|sqlite3|duckdb|litecli|mongosh|mongo|redis-cli|valkey-cli|gdb|lldb|pdb|ed|red|ex|vim?|nvim|view|rvim|nano|pico|emacs|less|more|most|man|info|ftp|sftp|lftp|mail|mailx|mutt)$/u
const PROMPT_MODULES =
  /(?:^|\s)-m\s*(?:pdb|code|IPython|asyncio|idlelib)\b|(?:^|\s)(?:inspect|repl|console|c|shell|tinker)(?:\s|$)/u

/** Findings about input that is code of another language than the shell's. */
export function codeFindings(text: string, { program }: InputReader): readonly CommandFinding[] {
  const found = text.split("\n").find((line) => startsSomething(line, program))
  return found === undefined
    ? []
    : [
        finding("input that runs code", {
          text: found,
          does: `can start other programs or change files of its own (${program})`,
          effects: CODE,
        }),
      ]
}

function startsSomething(line: string, program: string): boolean {
  if (/^(?:vim?|nvim|view|rvim|ex)$/u.test(program)) return EDITOR_COMMAND.test(line)
  if (DEBUGGERS.test(program)) return line.trim() !== "" && !HARMLESS_DEBUGGER.test(line)
  if (/^(?:less|more|most|man|info)$/u.test(program)) return /^[!|#vsE:&]/u.test(line.trim()) && !/^:[nqp]$/u.test(line)
  if (/^(?:ed|red)$/u.test(program)) return /!/u.test(line)
  if (/^(?:s?ftp|lftp|mailx?|mutt)$/u.test(program)) return /^\s*[!~|]/u.test(line)
  if (/^(?:psql|pgcli|mysql|mariadb|mycli|sqlite3|duckdb|litecli|redis-cli|valkey-cli)$/u.test(program))
    return DATABASE_ESCAPE.test(line)
  if (!NODE_LIKE.test(program) && line.includes("`")) return true
  return CODE_THAT_ACTS.test(line)
}

/** Whether the editor takes text as commands or as content is not known, so that only commands that leave the file count. */
const EDITOR_COMMAND =
  /:[\d,.$%'<> ]*(?:!|r(?:ead)?(?:\s|!|$)|w\w*!?\s+\S|so(?:urce)?!?\s|te(?:rm)?(?:inal)?\b|call?\s|exe(?:cute)?\s|lua|py|perl|ruby|tcl|mks|sav|e(?:dit)?!?\s|norm|au\b|\w*map\b|let\s|se?t?\s+\w*(?:prg|shell|exrc)|mak|gr\w*\s)|^\d*!|^@/u
const HARMLESS_DEBUGGER =
  /^\s*(?:(?:y|yes|n|no|q|quit|r|run|start|c|cont(?:inue)?|s|step|next|ni|si|fin(?:ish)?|until|bt|backtrace|where|up|down|detach|kill|del(?:ete)?|dis\w*|en\w*|layout|refresh|help)(?:\s+[\w.:*$-]+)*|(?:b|br|break|tbreak|watch|rwatch|awatch|l|list|f|frame|thread|info|i|p|print|display|ptype|whatis|x\/?\w*|set (?:args|pagination|confirm|width|height|print|listsize))(?:\s+[^()`!|]*)?)\s*$/u
/** Their own commands may be abbreviated. */
const DATABASE_ESCAPE =
  /\\!|\\[gowi]x?\s*\||^\s*\.(?:sh|sy|lo|ex|ar|ba|sa|cl|(?:re|im|on|o|lo)\w*\s+["']?\|)|\b(?:load_extension|writefile|edit|lo_export|lo_import|pg_(?:read|write|ls)\w*|load_file|dblink_connect|copy_to|read_(?:text|blob))\s*\(|\bprogram\s+['"$]|\binto\s+(?:out|dump)file\b|^\s*(?:\\[.PTr]\s|system\s|source\s|tee\s|pager\s)|^\s*(?:config|module|debug|slaveof|replicaof|shutdown)\b|\binstall\s+\w|^\s*load\s|\\setenv\b|\\e(?:dit|f|v)?(?:\s|$)|^\s*edit\b|^\s*flush(?:all|db)\b|^\s*eval\b/imu
const DEBUGGERS = /^(?:gdb|lldb)$/u
const NODE_LIKE = /^(?:node|nodejs|deno|bun|tsx|ts-node|mongosh|mongo)$/u
/** Functions and modules that start programs, evaluate text, or open, change and delete files, in the usual languages. */
const CODE_THAT_ACTS = new RegExp(
  [
    String.raw`__\w+__`,
    String.raw`\b(?:os|posix|nt|subprocess|shutil|pathlib|tempfile|glob|io|pty|ctypes|cffi|socket|requests|urllib\d?|httpx|importlib|runpy|pickle|marshal|multiprocessing|builtins|webbrowser|code|pdb|child_process|fs|net|https?|dgram|vm|worker_threads|cluster|inspector|Process|ProcessBuilder|Runtime|Deno|Bun|File|FileUtils|Dir|IO|Kernel|Open3|Pathname|Socket|System|Files|Paths)\b(?:[.:]|\s|["'),;]|$)`,
    String.raw`\b(?:system2?|popen\w*|exec\w*|eval\w*|spawn\w*|v?fork|compile|getattr|setattr|globals|locals|vars|breakpoint|open|fopen|require\w*|include\w*|import|load\w*|dofile|source|send|public_send|instance_eval|define_method|method|unlink\w*|remove\w*|rename\w*|rm\w*|rmdir|rmtree|mkdir\w*|write\w*|truncate|chmod|chown|symlink|file\.\w+|file_(?:get|put)_contents|passthru|shell\w*|proc_open|pcntl_\w+|kill|Function|constructor|run|sh|esyscmd|syscmd|extern\w*|save\w*|readLines|readRDS|download\w*|ccall)\s*[({\["'!]`,
    String.raw`\bconstructor\b|\bmodules\s*\[|\bprocess\s*(?:\[|\.(?!versions?\b|argv\b|uptime\b|memoryUsage\b|platform\b|arch\b|cwd\b|pid\b))`,
    String.raw`^\s*(?:!|%[!x\w]|\.(?:sa|lo|ed|b\b)|shell\b|system\b|exec\b|load\b|require\b|source\b|[:\\]!|:(?:!|so|e\b|load|cmd|def|script|w))`,
    // A function under another name.
    String.raw`[=,(\[:]\s*(?:open|exec|eval|compile|getattr|system|popen|spawn|require|unlink|rmtree|import_module|execSync|Function)\s*(?:[,)\];]|$)`,
    String.raw`\bconst_get\b|\bdrop(?:Database|Index)?\s*\(|\bdeleteMany\s*\(\s*\{\s*\}`,
    String.raw`%x\s*[{(\[]|\bqx\b|<<<|\busing\b|\buse\s`,
  ].join("|"),
  "mu",
)

/** Findings about paths in the input that lead out of the project or to files that are protected. */
export function pathFindings(
  text: string,
  { directory, facts }: { readonly directory: string; readonly facts: CommandFacts },
): readonly CommandFinding[] {
  for (const written of inputPaths(text)) {
    const path = resolvedPath(written, directory, facts.userHome)
    const forms = [...new Set([path, facts.realPath(path)])]
    const found = forms.find((form) => isOutside(form, facts) || isProtected(form, facts))
    if (found !== undefined)
      return [
        finding("input that names a file outside the project", {
          text: written,
          does: "names a file that is protected or outside the project for a running program",
          effects: [effectOf(found, facts)],
        }),
      ]
  }
  return []
}

/** The absolute paths that have to be looked up for `pathFindings`. */
export function inputPathNames(text: string, directory: string, userHome: string): readonly string[] {
  return inputPaths(text).map((written) => resolvedPath(written, directory, userHome))
}

/** Parts of a text that can be paths. Addresses are none. */
function inputPaths(text: string): readonly string[] {
  const plain = text.slice(0, MAX_CHARS).replaceAll(ADDRESS, " ")
  return [...new Set(plain.match(PATH_LIKE))].slice(0, MAX_PATHS)
}

const MAX_CHARS = 20_000
const MAX_PATHS = 200
const ADDRESS = /\b[a-z][a-z0-9+.-]{0,20}:\/\/(?:[\w.-]+(?::\d+)?)(?:[/?#][^\s'"`]*)?/giu
/** `~`, `..`, `/`, `$HOME` and what follows them, and names with a leading dot or a slash in them. */
const PATH_LIKE =
  /(?<![\w./~$}-])(?:(?:~[\w-]*|\$\{?(?:HOME|HERMES_HOME|OLDPWD)\}?|\.{1,2})\/[^\s'"`;|&<>(){}[\],:=]*|\/[^\s'"`;|&<>(){}[\],:=*/][^\s'"`;|&<>(){}[\],:=]*)|(?:^|(?<=['"]))\/(?=$|['"*])|(?<![\w./~$}-])(?:~|\.\.)(?=$|[\s'"`;|&<>)\],])|(?<![\w/~$}])\.?[\w@+-][\w.@+-]*(?:\/[\w.@+~-]+)+|(?<![\w/~$})\]"'-])\.[A-Za-z_][\w.-]*/gmu

function resolvedPath(written: string, directory: string, userHome: string): string {
  const path = written.replace(/^(?:~(?=\/|$)|\$\{?(?:HOME|OLDPWD)\}?)/u, userHome).replace(/^~/u, "/home/")
  return posix.resolve(directory, path)
}

function isOutside(path: string, { workspaceRoot }: CommandFacts): boolean {
  return !isWithin(path, workspaceRoot) && !/^\/dev\/(?:null|stdout|stderr|stdin|tty)$/u.test(path)
}

function isProtected(path: string, facts: CommandFacts): boolean {
  const found = pathClass(path, facts)
  return isCredentialPath(path, facts) || (found !== undefined && found !== "project env/config")
}

function effectOf(path: string, facts: CommandFacts): Effect {
  return isCredentialPath(path, facts) ? { kind: "credentials", path } : { kind: "write", path }
}

function finding(
  key: string,
  found: { readonly text: string; readonly does: string; readonly effects: readonly Effect[] },
): CommandFinding {
  const text = found.text.trim().slice(0, MAX_SHOWN)
  return { level: "ask", key, description: `${text} ${found.does}`, view: "text", effects: found.effects }
}

const MAX_SHOWN = 120

/** The command of a process with its input as a here-document, which the rules for commands judge. */
export function withInput({ command }: StartedProcess, text: string): string {
  let end = "INPUT"
  while (text.includes(end)) end += "_"
  return `{\n${command}\n} <<'${end}'\n${text}${text.endsWith("\n") ? "" : "\n"}${end}`
}

/** True for a finding about any text for an interpreter or debugger; `codeFindings` looks at what the text says. */
export function isAboutAnyCode(key: string, readers: readonly InputReader[]): boolean {
  if (key === "run a program from a script") return readers.every(({ program }) => DEBUGGERS.test(program))
  return ABOUT_ANY_CODE.has(key)
}

const ABOUT_ANY_CODE: ReadonlySet<string> = new Set([
  "script execution via heredoc",
  "inline code of an interpreter",
  "code from the output of another command",
  "an option that starts another program",
])
