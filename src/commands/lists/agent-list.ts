import type { App } from "../../app/app.ts"
import { compactCount, compactDuration } from "../../base/compact-count.ts"
import type { ProcessView } from "../../exec/background/process-view.ts"
import type { Choice, ChoiceAction, ChoiceList, Preview } from "../choice-list.ts"

/** A background task of the user, a sub-agent or a background process. */
export interface RunningWork {
  readonly kind: "task" | "agent" | "process"
  /** Of a task its number. */
  readonly id: string
  readonly isRunning: boolean
}

type AgentApp = Pick<App, "backgroundTasks" | "subAgents" | "processes" | "clock">

/** What an app runs besides its conversation: stop it, steer a task or a sub-agent, pause starting sub-agents. */
export function agentList(app: AgentApp): ChoiceList<RunningWork> {
  return {
    title: "Tasks, sub-agents and processes",
    hint: "Enter closes",
    emptyText: "No background task, no sub-agent and no background process is running.",
    load: async () => {
      const tasks = app.backgroundTasks.list().map((task) => taskChoice(task, app.clock.now()))
      const agents = app.subAgents.tree().flatMap((node) => agentChoices(node, app.clock.now()))
      const processes = (await app.processes.open()).list().map(processChoice)
      const choices = [...tasks, ...agents, ...processes]
      return app.subAgents.isPaused ? { choices, note: "Starting sub-agents is paused." } : { choices }
    },
    preview: async ({ value }) => await workPreview(value, app),
    actions: [stopAction(app), steerAction(app), pauseAction(app)],
  }
}

type Node = ReturnType<AgentApp["subAgents"]["tree"]>[number]

const GROUP_TASKS = "Background tasks"
const GROUP_AGENTS = "Sub-agents"
const GROUP_PROCESSES = "Background processes"

type Task = ReturnType<AgentApp["backgroundTasks"]["list"]>[number]

function taskChoice(
  { number, prompt, startedAt, lastTool, tokens, hasQuestion }: Task,
  now: number,
): Choice<RunningWork> {
  return {
    value: { kind: "task", id: String(number), isRunning: true },
    label: `${number}. ${prompt}`,
    details: [
      compactDuration((now - startedAt) / 1000),
      hasQuestion ? "waits for your answer" : (lastTool ?? ""),
      `${compactCount(tokens.input + tokens.output)} tokens`,
    ],
    group: GROUP_TASKS,
    keywords: `task ${number}`,
  }
}

function agentChoices(node: Node, now: number): readonly Choice<RunningWork>[] {
  const { id, goal, status, startedAt, tokens, lastTool, depth } = node
  const isRunning = status === "running"
  const choice: Choice<RunningWork> = {
    value: { kind: "agent", id, isRunning },
    label: `${"· ".repeat(depth - 1)}${goal}`,
    details: [
      isRunning ? compactDuration((now - startedAt) / 1000) : status,
      lastTool ?? "",
      `${compactCount(tokens.input + tokens.output)} tokens`,
    ],
    group: GROUP_AGENTS,
    keywords: id,
  }
  return [choice, ...node.children.flatMap((child) => agentChoices(child, now))]
}

function processChoice({ id, command, state, uptimeMs, pid }: ProcessView): Choice<RunningWork> {
  const isRunning = state.status === "running"
  return {
    value: { kind: "process", id, isRunning },
    label: command,
    details: [
      isRunning
        ? compactDuration(uptimeMs / 1000)
        : state.exitCode === undefined
          ? "ended"
          : `exit code ${state.exitCode}`,
      `process ${pid}`,
    ],
    group: GROUP_PROCESSES,
    keywords: id,
  }
}

async function workPreview({ kind, id }: RunningWork, app: AgentApp): Promise<Preview> {
  if (kind === "process") {
    const view = (await app.processes.open()).peek(id)
    const output = view?.output.trimEnd() ?? ""
    return { kind: "text", text: output === "" ? "It has printed nothing." : output.slice(-MAX_OUTPUT_CHARS) }
  }
  if (kind === "task") {
    const task = app.backgroundTasks.list().find(({ number }) => String(number) === id)
    if (task === undefined) return { kind: "text", text: "It has ended." }
    return { kind: "text", text: `${task.prompt}\n\nSession ${task.sessionId}\nTool calls: ${task.toolCount}` }
  }
  const node = findNode(app.subAgents.tree(), id)
  if (node === undefined) return { kind: "text", text: "It has ended." }
  const { goal, model, role, toolsets, toolCount, files } = node
  const changed = files.length === 0 ? [] : [`Changed files: ${files.join(", ")}`]
  return {
    kind: "text",
    text: [
      goal,
      "",
      `${id}, ${role}, ${model}`,
      `Toolsets: ${toolsets.join(", ")}`,
      `Tool calls: ${toolCount}`,
      ...changed,
    ].join("\n"),
  }
}

const MAX_OUTPUT_CHARS = 20_000

function findNode(nodes: readonly Node[], id: string): Node | undefined {
  for (const node of nodes) {
    const found = node.id === id ? node : findNode(node.children, id)
    if (found !== undefined) return found
  }
  return undefined
}

function stopAction(app: AgentApp): ChoiceAction<RunningWork> {
  return {
    chord: "ctrl+d",
    label: "stops it",
    appliesTo: ({ value }) => value.isRunning,
    confirm: ({ value, label }) => STOP_QUESTIONS[value.kind](label),
    run: async ({ value }) => {
      if (value.kind === "task")
        return app.backgroundTasks.stop(Number(value.id)) ? `Stopping task ${value.id}.` : `Task ${value.id} had ended.`
      if (value.kind === "agent")
        return app.subAgents.stop(value.id) ? `Stopping ${value.id}.` : `${value.id} had already ended.`
      const outcome = await (await app.processes.open()).kill(value.id, "the user")
      return outcome === "killed" ? `Killed ${value.id}.` : `${value.id} had already ended.`
    },
  }
}

const STOP_QUESTIONS: Readonly<Record<RunningWork["kind"], (label: string) => string>> = {
  task: (label) => `Stop the background task “${label}”?`,
  agent: (label) => `Stop the sub-agent “${label}” and everything it started?`,
  process: (label) => `Kill the process “${label}”?`,
}

function steerAction(app: AgentApp): ChoiceAction<RunningWork> {
  return {
    chord: "ctrl+s",
    label: "steers it",
    appliesTo: ({ value }) => value.kind !== "process" && value.isRunning,
    input: () => ({ label: "Message", text: "" }),
    run: ({ value }, { input }) => {
      if (input === "") return Promise.resolve("Nothing was sent.")
      const isSent =
        value.kind === "task"
          ? app.backgroundTasks.steer(Number(value.id), input)
          : app.subAgents.steer(value.id, input)
      return Promise.resolve(
        isSent ? `${value.id} receives this with its next step.` : `${value.id} had already ended.`,
      )
    },
  }
}

function pauseAction(app: AgentApp): ChoiceAction<RunningWork> {
  return {
    chord: "ctrl+t",
    label: "pauses or resumes starting sub-agents",
    run: () => {
      app.subAgents.setPaused(!app.subAgents.isPaused)
      return Promise.resolve(
        app.subAgents.isPaused
          ? "No sub-agent is started until you resume. Running ones go on."
          : "Sub-agents may be started again.",
      )
    },
  }
}
