import type { WorkspaceFacts, WorkspaceKind } from "../../exec/workspace.ts"

export interface EnvironmentFacts {
  /** Absent when the workspace could not be inspected. */
  readonly workspace?: WorkspaceFacts | undefined
  /** Default `local`. */
  readonly workspaceKind?: WorkspaceKind
  /** Added by the user or the program that embeds Hermes. */
  readonly environmentHint: string
  /** What is unusual about the installed tools; empty when nothing is. */
  readonly toolchain?: string
  readonly profile: string
}

/** Where the tools run. For a remote workspace, facts about this machine are left out: the model would act on them. */
export function environmentText(facts: EnvironmentFacts): string {
  const kind = facts.workspaceKind ?? "local"
  return [
    ...(kind === "local" ? localLines(facts.workspace) : remoteLines(kind, facts.workspace)),
    facts.toolchain ?? "",
    facts.profile === "default"
      ? ""
      : `Active profile: ${facts.profile}. Leave the data of other profiles alone unless the user asks for it.`,
    facts.environmentHint,
  ]
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n")
}

function localLines(workspace: WorkspaceFacts | undefined): readonly string[] {
  if (workspace === undefined) return []
  return [
    `Host: ${systemName(workspace)} (${workspace.release})`,
    `User home directory: ${workspace.home}`,
    directoryLine(workspace),
    workspace.os.startsWith("Windows")
      ? `The user name is ${workspace.user}, not the computer name. The terminal tool runs bash, not PowerShell.`
      : "",
    isWsl(workspace) ? "Windows drives are under /mnt: C:\\Users is /mnt/c/Users." : "",
  ]
}

function systemName(workspace: WorkspaceFacts): string {
  if (isWsl(workspace)) return "Linux under WSL"
  if (workspace.os === "Darwin") return "macOS"
  return workspace.os.startsWith("Windows") ? "Windows" : workspace.os
}

function isWsl({ os, release }: WorkspaceFacts): boolean {
  return os === "Linux" && release.toLowerCase().includes("microsoft")
}

const REMOTE_LOCATIONS: Readonly<Record<Exclude<WorkspaceKind, "local">, string>> = {
  docker: "in a Docker container",
  singularity: "in a Singularity container",
  modal: "in a Modal sandbox",
  daytona: "in a Daytona sandbox",
  ssh: "on another machine, over SSH",
}

function remoteLines(kind: Exclude<WorkspaceKind, "local">, workspace: WorkspaceFacts | undefined): readonly string[] {
  const location = remoteLocation(kind)
  if (workspace === undefined) return [location, "Look around there first, for example with `uname -a; whoami; pwd`."]
  return [
    location,
    `There: ${workspace.os} (${workspace.release}), user ${workspace.user}`,
    `User home directory: ${workspace.home}`,
    directoryLine(workspace),
    "There are no checkpoints there: commit or copy files before a risky change.",
  ]
}

/** The lines of the prompt that say where the tools work. A resumed session is sent them again when they have changed. */
export function locationLines(kind: WorkspaceKind, workspace: WorkspaceFacts): readonly string[] {
  return [...(kind === "local" ? [] : [remoteLocation(kind)]), directoryLine(workspace)]
}

/** Whether a text names a working directory. */
export function namesDirectory(text: string): boolean {
  return text.includes(DIRECTORY)
}

const DIRECTORY = "Current working directory: "

/** Whether a text says that the tools work on another machine or in a container. */
export function namesRemoteLocation(text: string): boolean {
  return text.includes(NOT_HERE)
}

const NOT_HERE = "not on the machine Hermes runs on."

function remoteLocation(kind: Exclude<WorkspaceKind, "local">): string {
  return `File and terminal tools work ${REMOTE_LOCATIONS[kind]}, ${NOT_HERE}`
}

function directoryLine({ cwd }: WorkspaceFacts): string {
  return DIRECTORY + cwd
}
