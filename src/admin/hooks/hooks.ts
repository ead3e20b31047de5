import { accessSync, constants, existsSync, statSync } from "node:fs"
import { resolve } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import type { HookEvent, HookPayload } from "../../plugins/hooks/hook-events.ts"
import { HOOK_EVENTS, HOOK_SCHEMA } from "../../plugins/hooks/hook-events.ts"
import {
  approveHook,
  isApproved,
  readConsents,
  revokeCommand,
  scriptChangedAt,
} from "../../plugins/shell-hooks/consent.ts"
import { divideByConsent, findShellHooks } from "../../plugins/shell-hooks/find-hooks.ts"
import { runShellHook } from "../../plugins/shell-hooks/run-hook.ts"
import type { HookRun, ShellHook } from "../../plugins/shell-hooks/shell-hook.ts"
import { splitCommand } from "../../plugins/shell-hooks/split-command.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"

export interface ListedHook {
  readonly hook: ShellHook
  readonly approved: boolean
}

export interface HookList {
  readonly hooks: readonly ListedHook[]
  readonly warnings: readonly string[]
}

export async function listHooks(context: HomeContext, cwd: string): Promise<HookList> {
  const { config, home } = await loadHome(context)
  const { hooks, warnings } = findShellHooks({ config, home, cwd })
  const { approved } = divideByConsent(hooks, { config, home })
  return { hooks: hooks.map((hook) => ({ hook, approved: approved.includes(hook) })), warnings }
}

export async function approve(context: HomeContext, hook: ShellHook, cwd: string): Promise<void> {
  await approveHook(hook, { ...context, cwd })
}

/** Returns how many approvals there were. */
export async function revoke({ home }: HomeContext, command: string): Promise<number> {
  return existsSync(home.path) ? await revokeCommand(command, home) : 0
}

export interface TestedHook {
  readonly hook: ShellHook
  /** Undefined for a hook that the user has not approved: it was not run. */
  readonly run: HookRun | undefined
  readonly durationMs: number
}

/** Runs the approved hooks of an event once. */
export async function testHooks(
  context: HomeContext,
  request: {
    readonly event: HookEvent
    readonly tool?: string | undefined
    /** Only the hook with this command. */
    readonly command?: string
    readonly payload: HookPayload
    readonly cwd: string
    readonly signal: AbortSignal
  },
): Promise<readonly TestedHook[]> {
  const { hooks } = await listHooks(context, request.cwd)
  const { environment } = await loadHome(context)
  const payload: HookPayload = {
    schema: HOOK_SCHEMA,
    session_id: "test",
    ...(HOOK_EVENTS[request.event].ofTool
      ? { tool_name: request.tool ?? "terminal", args: { command: "echo hello" } }
      : {}),
    ...request.payload,
  }
  const tested: TestedHook[] = []
  for (const { hook, approved } of hooks.filter((listed) => isWanted(listed.hook, request))) {
    if (!approved) {
      tested.push({ hook, run: undefined, durationMs: 0 })
      continue
    }
    const started = context.clock.now()
    const run = await runShellHook(
      hook,
      { payload, foreign: undefined, signal: request.signal },
      { ...context, environment, cwd: () => request.cwd },
    )
    tested.push({ hook, run, durationMs: context.clock.now() - started })
  }
  return tested
}

function isWanted(
  hook: ShellHook,
  { event, command }: { readonly event: HookEvent; readonly command?: string },
): boolean {
  return hook.event === event && (command === undefined || hook.command === command)
}

const SLOW_MS = 2000

/** Sentences about hooks that will not work as the user expects. */
export async function examineHooks(
  context: HomeContext,
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const { home } = context
  const { hooks, warnings } = await listHooks(context, cwd)
  const consents = readConsents(home)
  const problems: string[] = [...warnings]
  for (const { hook, approved } of hooks) {
    const named = `\`${hook.command}\` (${hook.event})`
    if (!approved) problems.push(`${named} is not approved and does not run; approve it with \`hermes hooks approve\``)
    const consent = consents.find((entry) => isApproved(hook, [entry]))
    const changed = scriptChangedAt(hook.command, { home, cwd })
    if (
      consent !== undefined &&
      consent.script_mtime_at_approval !== null &&
      changed !== undefined &&
      changed !== consent.script_mtime_at_approval
    )
      problems.push(`${named} has changed since you approved it`)
    const missing = executableProblem(hook, { userHome: home.userHome, cwd })
    if (missing !== undefined) problems.push(`${named} ${missing}`)
    if (!approved || missing !== undefined) continue
    const [tested] = await testHooks(context, { event: hook.event, command: hook.command, payload: {}, cwd, signal })
    if (tested?.run === undefined) continue
    if (tested.run.failure !== undefined) problems.push(`${named} failed in a test: ${tested.run.failure}`)
    else if (
      hook.claudeEvent === undefined &&
      tested.run.stdout.trim() !== "" &&
      !isRecord(parseJson(tested.run.stdout))
    )
      problems.push(`${named} writes something that is not a JSON object, so its output is ignored`)
    if (tested.durationMs > SLOW_MS) problems.push(`${named} took ${tested.durationMs} ms`)
  }
  return problems
}

function executableProblem(
  hook: ShellHook,
  { userHome, cwd }: { readonly userHome: string; readonly cwd: string },
): string | undefined {
  if (hook.claudeEvent !== undefined) return undefined
  const [program = ""] = splitCommand(hook.command, userHome) ?? []
  if (!program.includes("/")) return undefined
  const path = resolve(cwd, program)
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return `names ${program}, which does not exist`
  try {
    accessSync(path, constants.X_OK)
    return undefined
  } catch {
    return `names ${program}, which is not executable; use chmod +x`
  }
}
