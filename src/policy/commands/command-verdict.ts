import type { UnderstoodCommand } from "../shell/understood-command.ts"

/**
 * What a finding would do. The sandbox prevents some effects, and those are not asked about where it is on. `code` runs code that was not
 * judged, whose effects the sandbox confines; `person` is never prevented.
 */
export type Effect =
  /** Writes, replaces or deletes a file. */
  | { readonly kind: "write" | "delete"; readonly path: string | undefined }
  | { readonly kind: "network"; readonly host: string | undefined }
  | { readonly kind: "credentials"; readonly path: string }
  /** Acts on processes, services or the machine as a whole. */
  | { readonly kind: "system" }
  | { readonly kind: "privileges" }
  | { readonly kind: "code" }
  /** Acts on another machine or service, which needs the network or a socket. */
  | { readonly kind: "outside" }
  /** Changes history, a database, a remote or anything else that no sandbox confines. */
  | { readonly kind: "person" }

export type FindingLevel = "ask" | "ask_person" | "hardline" | "sudo_guard"

export interface CommandFinding {
  readonly level: FindingLevel
  /** The grant key of the specification, for example "recursive delete". */
  readonly key: string
  /** A clause for the user that names the part of the command, for example "rm -rf build deletes a directory tree". */
  readonly description: string
  readonly view: "argv" | "text"
  readonly effects: readonly Effect[]
}

export interface CommandVerdict {
  /** The level of the strongest finding. */
  readonly level: FindingLevel | "ok"
  /** Strongest first. */
  readonly findings: readonly CommandFinding[]
  /** What acts on other machines and services and is not risky by itself. Asked about where walls replace questions. */
  readonly outside: readonly CommandFinding[]
  readonly understood: UnderstoodCommand
}

/** A directory or an archive whose names are looked up. */
export interface Container {
  /** Absolute; for archives, the name at the end may be a pattern. */
  readonly path: string
  readonly isArchive: boolean
}

/** What a verdict depends on apart from the command. */
export interface CommandFacts {
  readonly userHome: string
  readonly hermesHome: string
  readonly hermesRoot: string
  readonly workspaceRoot: string
  /** The directory that Hermes is installed in. */
  readonly programRoot?: string
  /** The target of a path with symbolic links resolved, looked up beforehand; the path itself when unknown. */
  readonly realPath: (path: string) => string
  readonly hasSudoPassword: boolean
  /** The text of files that say what the commands of the line do: patches, settings of package managers. By absolute path. */
  readonly texts?: ReadonlyMap<string, string>
  /** Directories of pushes whose repositories are newer than this process: a command may have made them. */
  readonly newRepositories?: ReadonlySet<string>
  /**
   * The names in directories and archives that the commands of the line copy or unpack, relative to them. By absolute path. Undefined for an
   * archive whose names cannot be read.
   */
  readonly contained?: ReadonlyMap<string, readonly string[] | undefined>
  /** The forms of paths that were needed so far: several rules ask for the same ones. */
  readonly pathForms?: Map<string, readonly string[]>
}

/** What confines a command where it runs. */
export type Walls =
  | { readonly kind: "none" }
  | {
      readonly kind: "sandbox"
      readonly network: "off" | "list" | "on"
      readonly hosts: readonly string[]
      /** The repository of the workspace has hooks, or settings with which git starts programs. */
      readonly gitStartsPrograms?: true
      /** Unix sockets are allowed. */
      readonly sockets?: true
      /** Directory trees that commands may write. */
      readonly writable: readonly string[]
      /** Whether a checkpoint can restore what is deleted at this path. */
      readonly isRestorable: (path: string) => boolean
    }
  /** A container or a machine of its own: nothing of the host can be damaged. */
  | { readonly kind: "container" }
