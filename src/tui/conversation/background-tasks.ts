import type { App } from "../../app/app.ts"
import type { TaskResult } from "../../app/services/background-tasks.ts"
import type { Session } from "../../app/session/session.ts"
import { compactDuration } from "../../base/compact-count.ts"
import { counted } from "../../base/counted.ts"
import { ellipsize } from "../../base/text.ts"
import type { SlashContext } from "../../commands/slash-command.ts"
import type { ChatUi, TurnUi } from "../chat-ui.ts"

interface TaskState {
  readonly options: { readonly app: App; readonly signal: AbortSignal }
  readonly ui: ChatUi
  readonly session: Session
}

/** What `/background` uses. */
export function taskControl({ backgroundTasks }: App, { startTask }: Session): Pick<SlashContext, "background"> {
  if (startTask === undefined) return {}
  return {
    background: {
      start: async (prompt) => {
        const started = await startTask(prompt)
        if (!started.ok) throw new Error(started.error)
        return started.value.number
      },
      list: () => backgroundTasks.list(),
      stop: (number) => backgroundTasks.stop(number),
    },
  }
}

/** Shows the questions of background tasks with those of a turn. Returns a function that ends it; open ones are asked later. */
export function showTaskQuestions({ backgroundTasks }: App, turn: TurnUi): () => void {
  for (const question of backgroundTasks.questions()) turn.event(question)
  return backgroundTasks.subscribe((event) => {
    turn.event(event)
  })
}

/** Between two turns: shows the next result, or asks the questions of tasks. Returns false when there is neither. */
export async function handleTaskNews(state: TaskState): Promise<boolean> {
  const { backgroundTasks } = state.options.app
  const result = backgroundTasks.takeResult()
  if (result !== undefined) {
    await showResult(result, state.ui)
    return true
  }
  if (backgroundTasks.questions().length === 0) return false
  await askQuestions(state)
  return true
}

const MAX_TITLE_CHARS = 60

async function showResult({ task, how, text, durationMs }: TaskResult, ui: ChatUi): Promise<void> {
  const name = `Background task ${task.number} (${ellipsize(task.prompt.replaceAll(/\s+/gu, " "), MAX_TITLE_CHARS)})`
  switch (how) {
    case "completed":
      await ui.panel(`${name}, ${compactDuration(durationMs / 1000)}, session ${task.sessionId}`, text)
      return
    case "failed":
      ui.errLine(`${name} failed: ${text}`)
      return
    case "stopped":
      ui.line(`${name} was stopped. Its conversation is session ${task.sessionId}.`)
  }
}

/** Asks until no question is open. What is typed meanwhile is read afterwards. */
async function askQuestions({ options, ui, session }: TaskState): Promise<void> {
  const { backgroundTasks } = options.app
  const turn = ui.openTurn(session)
  const settled = new AbortController()
  const typed: Parameters<ChatUi["putBack"]>[0][number][] = []
  ui.whileBusy({
    line: (message) => {
      typed.push(message)
    },
    draftChanged: (text) => {
      turn.setDraft(text)
    },
    interrupt: () => undefined,
  })
  const endQuestions = showTaskQuestions(options.app, turn)
  const unsubscribe = backgroundTasks.subscribe(() => {
    if (backgroundTasks.questions().length === 0) settled.abort()
  })
  try {
    if (backgroundTasks.questions().length > 0) await aborted(AbortSignal.any([settled.signal, options.signal]))
  } finally {
    unsubscribe()
    endQuestions()
    turn.close()
    ui.whileBusy(undefined)
    ui.putBack(typed)
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
}

/** The user leaves: asks whether to wait for running tasks. Without a user they are stopped. */
export async function leaveTasks(state: TaskState): Promise<void> {
  const { ui, options } = state
  const { backgroundTasks } = options.app
  const running = backgroundTasks.list().length
  if (running > 0 && !options.signal.aborted && (await wantsToWait(running, state))) await waitForTasks(state)
  const stopped = backgroundTasks.stopAll()
  if (stopped > 0) ui.line(`Stopping ${counted(stopped, "background task")}.`)
}

async function wantsToWait(running: number, { ui, options }: TaskState): Promise<boolean> {
  const command = ui.openCommand("/quit", options.signal)
  try {
    const question =
      running === 1
        ? "1 background task is still running. Wait for its result? Otherwise it is stopped."
        : `${running} background tasks are still running. Wait for their results? Otherwise they are stopped.`
    return (await command.abilities.confirm?.(question)) ?? false
  } finally {
    command.close()
  }
}

/** Ctrl+C ends the wait. */
async function waitForTasks(state: TaskState): Promise<void> {
  const { ui, options } = state
  const { backgroundTasks } = options.app
  const interrupted = new AbortController()
  const signal = AbortSignal.any([options.signal, interrupted.signal])
  ui.line("Waiting for background tasks. Ctrl+C stops them.")
  while (!signal.aborted && backgroundTasks.list().length > 0) {
    ui.whileBusy({
      line: () => undefined,
      interrupt: () => {
        interrupted.abort()
      },
    })
    await backgroundTasks.waitForNews(signal)
    ui.whileBusy(undefined)
    while (!signal.aborted && (await handleTaskNews(state))) continue
  }
  while (await handleTaskNews(state)) continue
}
