/**
 * Where a session's commands run and its files live: both in the same place, so that a container's file tools see the
 * container's files. Whoever opens a workspace closes it.
 */
export interface Workspace {
  readonly kind: WorkspaceKind
  /** Commands and files are in a container, not on this machine's own file system. */
  readonly isContainer: boolean
  /** The working directory commands start in; follows `cd` from one command with `keepState` to the next. */
  cwd(): string
  /** Starts a command in a process group of its own. Aborting `signal` or the time-out kills the whole group. */
  run(command: string, options: RunOptions): RunningCommand
  /** Starts a command that goes on beside the conversation; it is killed with the workspace, not with a signal. */
  start(command: string, options: StartOptions): Promise<BackgroundCommand>
  /** A command is about to be asked for: what the first one needs may be made ready meanwhile. */
  warm?(): void
  readonly files: FileSystem
  /** The ripgrep program there, or undefined where it has none. */
  ripgrep(): Promise<string | undefined>
  describe(): Promise<WorkspaceFacts>
  close(): Promise<void>
  /** Kills whatever still runs, without waiting: for a process that must leave at once. */
  abandon(): void
}

export type WorkspaceKind = "local" | "docker" | "ssh" | "singularity" | "modal" | "daytona"

export interface RunOptions {
  readonly cwd?: string
  readonly stdin?: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** How much output is kept: its head and its tail; `output` shows all of it to a reader that keeps up. */
  readonly keepChars: number
  /**
   * A command of the conversation: it starts with the directory, variables, functions and aliases that the last such command
   * left, and leaves its own. Internal commands (searches, file operations) do not set it and see none of that.
   */
  readonly keepState?: boolean
}

export interface StartOptions {
  readonly cwd?: string
  /** In a terminal of its own, 30 rows and 120 columns; pipes where no terminal can be had. */
  readonly pty: boolean
  /** Called with output as it arrives, stdout and stderr together, decoded with replacement. */
  readonly onOutput: (text: string) => void
  /** Takes stderr apart from `onOutput`; only on this machine, and not from a terminal. */
  readonly onErrorOutput?: (text: string) => void
}

/** A command that runs on its own. */
export interface BackgroundCommand {
  /** In the process table of the workspace. */
  readonly pid: number
  /** When the process began, in the system's own measure, to tell it from a later one with the same id; "" where unknown. */
  readonly startToken: string
  readonly isPty: boolean
  /** Never rejects. */
  readonly exit: Promise<Pick<CommandExit, "how" | "code" | "error">>
  /** False when nothing can be written any more, or never could. */
  write(data: string): boolean
  /** Sends end-of-input. */
  closeInput(): boolean
  /** SIGTERM to the whole group, then SIGKILL; resolves when it is gone. */
  kill(): Promise<void>
}

export interface RunningCommand {
  /** Output in order of arrival, stdout and stderr together, decoded with replacement. */
  readonly output: AsyncIterable<string>
  readonly exit: Promise<CommandExit>
}

/** How a command ended. The output that was kept is bounded: head and tail, with the number of characters left out. */
export interface CommandExit {
  readonly how: "exited" | "timed-out" | "interrupted" | "failed-to-start"
  /** 124 for a time-out, 130 for an interrupt, -1 when it never started. */
  readonly code: number
  readonly output: string
  readonly omittedChars: number
  readonly error?: string
  /** The command never started because the place was out of reach (a lost container, a broken link): worth another try. */
  readonly unreachable?: true
  /** With `keepState`: the directory was gone, and the command ran in another one. */
  readonly cwdNote?: string
  /** With `keepState`: something about the place that a person should know, said once. */
  readonly placeNote?: string
}

/** Paths are absolute or relative to the workspace's `cwd()`; `~` is the account home there. */
export interface FileSystem {
  /** Absolute, normalised, `~` expanded; touches nothing. */
  resolve(path: string): string
  stat(path: string): Promise<FileFacts | undefined>
  /** Fails on anything but a regular file: a pipe or a device could keep the reader waiting for ever. */
  read(path: string): Promise<Uint8Array>
  /** A part of a regular file, shorter where the file ends; absent where only whole files can be had. */
  readRange?(path: string, range: { readonly start: number; readonly length: number }): Promise<Uint8Array>
  /** Replaces the whole file or nothing; creates parent directories; keeps mode bits; follows a link to its target.
   * Fails on a pipe or a device instead of replacing it. */
  write(path: string, data: string | Uint8Array): Promise<WriteFacts>
  list(path: string): Promise<readonly DirectoryEntry[]>
  /** Removes one file or link, never a directory. */
  remove(path: string): Promise<void>
  /** Moves one file; creates parent directories of the target; fails when the target exists. */
  rename(from: string, to: string): Promise<void>
  /** The path with all symbolic links resolved; the nearest existing ancestor decides for a path that does not exist yet. */
  realPath(path: string): Promise<string>
  /** `realPath` with what `stat` would say, in one journey; absent where the files are near. */
  readonly look?: (path: string) => Promise<FileLook>
  /** `stat` with the content of a regular file, as long as that has at most so many bytes; absent where the files are near. */
  readonly readWithFacts?: (path: string, maxBytes: number) => Promise<FileReading>
  /** A directory for result files that `read_file` can reach. */
  temporaryDirectory(): Promise<string>
}

export interface FileFacts {
  readonly kind: "file" | "directory" | "other"
  readonly size: number
  readonly modifiedMs: number
  readonly mode: number
}

export interface FileLook {
  readonly realPath: string
  /** Undefined for what is not there, and where nobody can tell. */
  readonly facts: FileFacts | undefined
}

export interface FileReading {
  readonly facts: FileFacts | undefined
  /** Absent when the file is empty, too large, or no regular file that may be read: `read` knows more then. */
  readonly content?: Uint8Array
}

export interface WriteFacts {
  readonly bytes: number
  readonly path: string
  readonly createdDirectories: boolean
  /** The file as it is after the write, where that was learnt on the way. */
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
