import type { App } from "../../app/app.ts"
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
  readonly app: Pick<App, "config" | "home" | "subAgents" | "backgroundTasks" | "processes">
  readonly session: Session
  readonly sessionSeconds: number
  readonly branch: string | undefined
  /** Seconds since the turn began; undefined between turns. */
  readonly turn: number | undefined
  readonly queued: number
  /** Undefined when costs are not shown. */
  readonly costUsd: number | undefined
}

export function statusOf({
  app,
  session,
  sessionSeconds,
  branch,
  turn,
  queued,
  costUsd,
}: StatusOptions): StatusBarState {
  const { facts, context } = session
  return {
    model: facts.model,
    context:
      context.contextLength > 0 && facts.modelProblem === undefined
        ? { used: Math.max(0, context.lastPromptTokens), window: context.contextLength }
        : undefined,
    compressions: context.compressionCount,
    backgroundTasks: app.backgroundTasks.list().length + backgroundAgents(app),
    backgroundProcesses: app.processes.running(),
    sessionSeconds,
    turn: turn === undefined ? undefined : { kind: "running", seconds: turn },
    permissionProfile: facts.permissionProfile,
    queued,
    costUsd,
    isDemo: facts.provider === "demo",
    directory: shortened(facts.cwd, app.home.userHome),
    branch,
  }
}

function shortened(path: string, userHome: string): string {
  return path === userHome || path.startsWith(`${userHome}/`) ? `~${path.slice(userHome.length)}` : path
}

/** Delegated tasks that go on when the turn has ended. */
function backgroundAgents({ subAgents }: Pick<App, "subAgents">): number {
  return subAgents.tree().filter(({ status, delegationId }) => status === "running" && delegationId !== undefined)
    .length
}
