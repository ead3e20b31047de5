import type { Confinement } from "./confinement.ts"
import type { Programs } from "./programs/programs.ts"

/**
 * Where a session runs its commands and keeps its files: this machine, a container, another host or a cloud sandbox. Commands and file
 * operations always see the same file system. The code that opens a workspace must close it.
 */
export interface Workspace {
  readonly kind: WorkspaceKind
  /** True for containers and cloud sandboxes. */
  readonly isContainer: boolean
  /** The current working directory. It follows `cd` from one command with `keepState` to the next. */
  cwd(): string
  /** Starts a command in its own process group. Aborting `signal` or reaching the timeout kills the whole group. */
  run(command: string, options: RunCommandOptions): RunningCommand
  /** Starts a background command. It runs until it exits, is killed, or the workspace closes. Rejects when it cannot start. */
  start(command: string, options: StartCommandOptions): Promise<BackgroundCommand>
  /** How many commands with `keepState` have left their state for the next one. Absent where that is not known. */
  adoptedStates?(): number
  /** Whether commands run in the sandbox of this machine; opens it first. Absent where there is none. */
  isSandboxed?(): Promise<boolean>
  /** Hint that a command will follow soon: prepares in the background what the first command needs. */
  prewarm?(): void
  /** Set where commands reach only a list of hosts: who is asked about others. */
  readonly onUnlistedHost?: (ask: (host: { readonly host: string; readonly port: number }) => Promise<boolean>) => void
  /** Programs on this machine, even where commands run elsewhere. Absent where none can run. */
  readonly programs?: Programs
  /** Lets all further commands see these variables. Returns the names that commands never see. Absent where it cannot be done. */
  provideVariables?(values: Readonly<Record<string, string>>): readonly string[]
  /**
   * Lets all further commands read these files of the Hermes home, relative to it: on this machine where they are, elsewhere below
   * `~/.hermes`, until the workspace closes. The caller has checked them with `declaredCredentialFile`. Absent where it cannot be done.
   */
  provideFiles?(paths: readonly string[]): void
  /** Keeps an unused workspace from being suspended until the returned function is called. Absent where it never is. */
  hold?(): () => void
  readonly files: FileSystem
  readonly results: ResultFiles
  /** Path of the ripgrep program inside the workspace; undefined when it is not installed there. */
  ripgrep(): Promise<string | undefined>
  describe(): Promise<WorkspaceFacts>
  /** The process groups that the workspace ends when it closes. Absent where they are on another machine. */
  readonly processGroups?: () => readonly number[]
  /** Ends all commands, waits for them and releases the workspace. */
  close(): Promise<void>
  /** Kills everything that still runs, without waiting. For a process that is about to exit. */
  abandon(): void
}

export type WorkspaceKind = "local" | "docker" | "ssh" | "singularity" | "modal" | "daytona"

export interface RunCommandOptions {
  /** Working directory of this command only; `Workspace.cwd()` by default. */
  readonly cwd?: string
  readonly stdin?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** How many characters of output `CommandExit.output` keeps. */
  readonly keepChars: number
  /**
   * Set for commands of the conversation: the command starts with the directory, variables, functions and aliases that the previous
   * such command left, and leaves its own. Internal commands (searches, file operations) do not set it and see none of that state.
   */
  readonly keepState?: boolean
  readonly confinement?: Confinement | undefined
}

export interface StartCommandOptions {
  readonly cwd?: string
  readonly confinement?: Confinement | undefined
  /** Runs the command in a pseudo-terminal of 30 rows and 120 columns. Falls back to pipes where none is available. */
  readonly pty: boolean
  /** Receives output as it arrives: stdout and stderr merged, decoded as UTF-8 with replacement characters. */
  readonly onOutput: (text: string) => void
  /** Receives stderr separately from `onOutput`. Only supported on this machine and without a pseudo-terminal. */
  readonly onErrorOutput?: (text: string) => void
}

/** A command started with `Workspace.start`. */
export interface BackgroundCommand {
  /** Process id in the process table of the workspace. */
  readonly pid: number
  /** Start time in the system's own unit; tells the process from a later one with the same id. "" where unknown. */
  readonly startToken: string
  readonly isPty: boolean
  /** Never rejects. */
  readonly exit: Promise<ExitStatus>
  /** Writes to stdin. Returns false when stdin is closed or was never available. */
  write(data: string): boolean
  /** Closes stdin. Returns false when it is closed or was never available. */
  closeInput(): boolean
  /** Sends SIGTERM to the whole process group, then SIGKILL. Resolves when the group is gone. */
  kill(): Promise<void>
}

export interface RunningCommand {
  /**
   * Output in order of arrival: stdout and stderr merged, decoded as UTF-8 with replacement characters. Complete only for a reader that
   * keeps up.
   */
  readonly output: AsyncIterable<string>
  readonly exit: Promise<CommandExit>
}

export interface CommandExit {
  readonly how: "exited" | "timed-out" | "interrupted" | "failed-to-start"
  /** 124 after a timeout, 130 after an interrupt, -1 when the command never started. */
  readonly code: number
  /** The head and the tail of the output, with a notice of how much is missing in between. */
  readonly output: string
  readonly omittedChars: number
  readonly error?: string
  /** The command never started because the workspace could not be reached (lost container, broken connection). Worth a retry. */
  readonly unreachable?: true
  /** With `keepState`: set when the working directory no longer existed and the command ran in another one. */
  readonly cwdNote?: string
  /** With `keepState`: a problem with the workspace itself that the user should know about. Each problem is reported once. */
  readonly workspaceNote?: string
}

/** How a command ended, without its output. */
export type ExitStatus = Pick<CommandExit, "how" | "code" | "error">

/** Paths are absolute or relative to `Workspace.cwd()`; `~` is the home directory of the account in the workspace. */
export interface FileSystem {
  /** Returns the absolute, normalised path with `~` expanded. Does not access the file system. */
  resolve(path: string): string
  /** Returns undefined when the path does not exist. Follows symbolic links. */
  stat(path: string): Promise<FileFacts | undefined>
  /** Rejects for anything but a regular file: reading a pipe or a device could block forever. */
  read(path: string): Promise<Uint8Array>
  /** Reads part of a regular file; the result is shorter at the end of the file. Absent where only whole files can be read. */
  readRange?(path: string, range: { readonly start: number; readonly length: number }): Promise<Uint8Array>
  /**
   * Replaces the file atomically. Creates parent directories, keeps the mode of an existing file and follows symbolic links. Rejects for
   * a pipe or a device.
   */
  write(path: string, data: string | Uint8Array): Promise<WriteFacts>
  list(path: string): Promise<readonly DirectoryEntry[]>
  /** Removes one file or symbolic link, never a directory. */
  remove(path: string): Promise<void>
  /** Moves one file and creates parent directories of the target. Rejects when the target exists. */
  rename(from: string, to: string): Promise<void>
  /** Resolves all symbolic links. For a path that does not exist, resolves its nearest existing ancestor. */
  realPath(path: string): Promise<string>
  /** `realPath` and `stat` in one round trip. Absent where file access needs no round trip. */
  readonly lookup?: (path: string) => Promise<PathLookup>
  /** `stat` and, for a regular file of at most `maxBytes`, its content in one round trip. Absent where file access needs none. */
  readonly readWithFacts?: (path: string, maxBytes: number) => Promise<FileReading>
  /** A directory for results and scripts that no other user can read. Absent on this machine, where commands could replace it. */
  readonly temporaryDirectory?: () => Promise<string>
  /**
   * The same files for one call whose paths were judged: each access to one of them happens at its judged real path or fails, and no
   * other path can be changed. Absent where files belong to another machine.
   */
  readonly withJudgedPaths?: (paths: readonly JudgedPath[]) => FileSystem
}

/** The files with tool results that are too long to send to the model. */
export interface ResultFiles {
  /** The directory of this conversation, the only one of its kind that its file tools may read. Absent on other machines. */
  readonly directory?: string
  /** Stores a result in a new file that file tools and commands of the conversation can read. Returns its path. */
  save(text: string): Promise<string>
  /** Removes old results of all conversations and returns their number. Absent on other machines, which clean up their temporary files. */
  readonly removeOld?: (now: number) => Promise<number>
}

/** A path of a call, as the policy has judged it. */
export interface JudgedPath {
  /** As the call names it. */
  readonly given: string
  /** Absolute and normalized. */
  readonly literal: string
  /** With all symbolic links resolved. */
  readonly real: string
  /** With all symbolic links resolved except one at the end: what a removal or a move acts on. */
  readonly entry: string
}

export interface FileFacts {
  readonly kind: "file" | "directory" | "other"
  readonly size: number
  readonly modifiedMs: number
  /** Permission bits. */
  readonly mode: number
}

export interface PathLookup {
  readonly realPath: string
  /** Undefined when the path does not exist or cannot be accessed. */
  readonly facts: FileFacts | undefined
}

export interface FileReading {
  readonly facts: FileFacts | undefined
  /** Absent for an empty, too large, unreadable or non-regular file. `read` then reports the reason. */
  readonly content?: Uint8Array
}

export interface WriteFacts {
  readonly bytes: number
  readonly path: string
  readonly createdDirectories: boolean
  /** The file after the write, where the write itself reports it. */
  readonly facts?: FileFacts
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: "file" | "directory" | "other"
}

export interface WorkspaceFacts {
  readonly os: string
  readonly release: string
  readonly user: string
  readonly home: string
  readonly cwd: string
}
