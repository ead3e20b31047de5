import type { App } from "../../app/app.ts"
import { currentBranch } from "../../app/services/current-branch.ts"
import type { Session } from "../../app/session/session.ts"
import type { StatusBarState } from "../render/status-bar.ts"

/** What the status bar shows before the session is open. */
export function firstStatus(sessionSeconds: number): StatusBarState {
  return {
    model: "starting",
    context: undefined,
    compressions: 0,
    backgroundTasks: 0,
    backgroundProcesses: 0,
    sessionSeconds,
    turn: undefined,
    permissionProfile: "default",
    queued: 0,
    isDemo: false,
  }
}

export interface StatusOptions {
  readonly app: Pick<App, "config" | "home" | "subAgents">
  readonly session: Session
  readonly sessionSeconds: number
  /** Seconds since the turn began; undefined between turns. */
  readonly turn: number | undefined
  readonly queued: number
}

export function statusOf({ app, session, sessionSeconds, turn, queued }: StatusOptions): StatusBarState {
  const { facts, context } = session
  return {
    model: facts.model,
    context:
      context.contextLength > 0
        ? { used: Math.max(0, context.lastPromptTokens), window: context.contextLength }
        : undefined,
    compressions: context.compressionCount,
    backgroundTasks: app.subAgents.tree().filter(({ status }) => status === "running").length,
    backgroundProcesses: 0,
    sessionSeconds,
    turn: turn === undefined ? undefined : { kind: "running", seconds: turn },
    permissionProfile: facts.permissionProfile,
    queued,
    isDemo: facts.provider === "demo",
    directory: shortened(facts.cwd, app.home.userHome),
    branch: currentBranch(facts.cwd),
  }
}

function shortened(path: string, userHome: string): string {
  return path === userHome || path.startsWith(`${userHome}/`) ? `~${path.slice(userHome.length)}` : path
}
