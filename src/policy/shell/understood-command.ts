/** One word of a command after quote removal and every expansion whose result is known without running anything. */
export interface ShellWord {
  /** Parts that only the shell can compute stay as they were written, for example `$(date)`. */
  readonly text: string
  /** False when a part of the word is not known. */
  readonly known: boolean
  /** Contains an unquoted `*`, `?` or `[…]`: the shell may replace it with the names of files. */
  readonly pattern: boolean
  /** Where the part that is not known comes from, when it is a list that the line reads. */
  readonly names?: NameSource
}

/** Where words come from that are only known when the line runs. */
export interface NameSource {
  /** Absolute paths of the files that contain them. */
  readonly files: readonly string[]
  /** Some are decoded, downloaded or in files that are not known. */
  readonly isHidden: boolean
  /**
   * Absolute paths that they may be, because a program got these as arguments or input and prints names. With a slash at the end, anything below the
   * directory; with two stars as a component, files of that name anywhere below it.
   */
  readonly paths?: readonly string[]
  /** The program may have changed the paths. */
  readonly isEdited?: true
  /** The whole word is one of the paths and cannot be anything else. */
  readonly isComplete?: true
}

export interface Redirection {
  readonly operator: ">" | ">>" | ">|" | "&>" | "&>>" | "<" | "<>" | ">&" | "<&"
  readonly descriptor: number | undefined
  readonly target: ShellWord
}

/** What a command reads from its standard input, as far as the line says. */
export type CommandInput =
  | { readonly kind: "text"; readonly word: ShellWord }
  /** Index in `UnderstoodCommand.commands` of the command before it in the pipeline. */
  | { readonly kind: "command"; readonly index: number }
  | { readonly kind: "file"; readonly path: ShellWord }

/** A program that starts another one, for example `sudo -u root`. */
export interface CommandWrapper {
  readonly program: string
  readonly argv: readonly ShellWord[]
}

/** One program that the line would start, or one group of assignments and redirections without a program. */
export interface SimpleCommand {
  /** Program and arguments without wrappers. Empty when only assignments or redirections remain. */
  readonly argv: readonly ShellWord[]
  /** The program without its directory. Undefined when it is not known. */
  readonly program: string | undefined
  /** Outermost first. */
  readonly wrappers: readonly CommandWrapper[]
  readonly assignments: readonly { readonly name: string; readonly value: ShellWord }[]
  readonly redirections: readonly Redirection[]
  /** The working directory it would run in. Undefined when an earlier `cd` is not known. */
  readonly directory: string | undefined
  readonly input: CommandInput | undefined
  readonly background: boolean
  /** How the line leads to this command. */
  readonly source: "line" | "substitution" | "function" | "alias" | "nested" | "remote"
  /** Where a `remote` command runs: the host of ssh, the container of docker exec. */
  readonly remote?: string
  /** The words joined by single spaces, without wrappers; the form that permission rules match. */
  readonly text: string
  /** The same with wrappers and assignments. */
  readonly wholeText: string
}

/** Why a line is not completely understood. What is not understood is asked about. */
export interface Doubt {
  readonly kind: "syntax" | "program" | "script" | "expansion" | "directory" | "depth" | "length"
  /** The part of the line. */
  readonly text: string
  /** A clause for the user, for example "the name of the program is computed by the shell". */
  readonly reason: string
}

/** What earlier commands left behind in the shell that a command runs in. */
export interface ShellState {
  readonly directory: string | undefined
  /** Undefined as a value: changed to something that is not known. */
  readonly variables: ReadonlyMap<string, string | undefined>
  /** The elements of arrays, all of which are known; `variables` has undefined for them. */
  readonly lists?: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Variables that were set without export: the next command sees them only where the environment already had them. */
  readonly unexported?: ReadonlySet<string>
  /** The source text of each function body; undefined when it is not known. */
  readonly functions: ReadonlyMap<string, string | undefined>
  readonly aliases: ReadonlyMap<string, string | undefined>
  /** Text that commands wrote to files, by absolute path; undefined when it is not known. */
  readonly files?: ReadonlyMap<string, string | undefined>
  /** Symbolic links that commands made: the target of each, both as absolute paths. */
  readonly links?: ReadonlyMap<string, string>
  /** Files that commands made of programs, by absolute path: the path of the program whose content they may have. */
  readonly copies?: ReadonlyMap<string, string>
  /** Files that were sourced and whose text is not known: any name may be a function or an alias since then. */
  readonly sourced?: ReadonlySet<string>
  /** Variables whose words come from lists. */
  readonly listed?: ReadonlyMap<string, NameSource>
  /** Remote repositories that commands added or changed: names, `*` for any, and as absolute paths the directories of new clones; `.git` below them if they are from another machine. */
  readonly remotes?: ReadonlySet<string>
}

export interface UnderstoodCommand {
  /** Every command that may run, in the order of the line, including both branches of conditions. */
  readonly commands: readonly SimpleCommand[]
  readonly doubts: readonly Doubt[]
  /** Files that contain words of these commands. Their text is read when the line is judged. */
  readonly lists: readonly string[]
  readonly after: ShellState
}
