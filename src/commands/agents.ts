import type { App } from "../app/app.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { counted } from "../base/counted.ts"
import { ellipsize } from "../base/text.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/agents`: shows the sub-agents, and pauses, stops or steers them. */
export const agentsCommand: SlashCommand = {
  name: "agents",
  category: "tools",
  aliases: ["tasks"],
  help: "show, pause, stop or steer sub-agents",
  argument: "[pause [ID] | resume [ID] | stop ID | steer ID TEXT]",
  run: async (argument, { app, pick }: SlashContext): Promise<SlashOutcome> => {
    if (argument.trim() !== "" || pick === undefined) return reply(answer(argument.trim(), app))
    const { agentList } = await import("./lists/agent-list.ts")
    await pick(agentList(app))
    return NOTHING_CHOSEN
  },
}

const USAGE =
  "Usage: /agents, /agents pause [ID], /agents resume [ID], /agents stop ID, /agents steer ID TEXT. The beginning of an ID is enough."

function answer(
  argument: string,
  { subAgents, backgroundTasks, clock }: Pick<App, "subAgents" | "backgroundTasks" | "clock">,
): string {
  const [, action = "", typed = "", text = ""] = /^(\S*)\s*(\S*)\s*([^]*)$/u.exec(argument) ?? []
  const id = fullId(typed, subAgents.tree())
  switch (action) {
    case "":
    case "list":
    case "tree":
      return [
        ...(subAgents.isPaused ? ["Starting sub-agents is paused; /agents resume continues."] : []),
        ...taskLines(backgroundTasks.list(), clock.now()),
        ...treeLines(subAgents.tree(), clock.now()),
      ].join("\n")
    case "pause":
      if (id !== "")
        return subAgents.pauseBranch(id, true)
          ? `${id} and those below it start no sub-agent until /agents resume ${id}. They go on with their work.`
          : notRunning(id)
      subAgents.setPaused(true)
      return "No sub-agent is started until /agents resume. Running ones go on."
    case "resume":
      if (id !== "") return subAgents.pauseBranch(id, false) ? `${id} may start sub-agents again.` : notRunning(id)
      subAgents.setPaused(false)
      return "Sub-agents may be started again."
    case "stop":
      if (id === "") return USAGE
      if (/^\d+$/u.test(id)) return backgroundTasks.stop(Number(id)) ? `Stopping task ${id}.` : noTask(id)
      return subAgents.stop(id) ? `Stopping ${id} and everything it started.` : notRunning(id)
    case "steer":
      if (id === "" || text.trim() === "") return USAGE
      if (/^\d+$/u.test(id))
        return backgroundTasks.steer(Number(id), text.trim())
          ? `Task ${id} receives this with its next step.`
          : noTask(id)
      return subAgents.steer(id, text.trim()) ? `${id} receives this with its next step.` : notRunning(id)
    default:
      return USAGE
  }
}

/** A running sub-agent can be named by the beginning of its id, if no other running one begins like that. */
function fullId(typed: string, nodes: Nodes): string {
  const matching = runningIds(nodes).filter((id) => id.startsWith(typed))
  const [only = typed] = matching
  return typed !== "" && matching.length === 1 ? only : typed
}

function runningIds(nodes: Nodes): readonly string[] {
  return nodes.flatMap(({ id, status, children }) => [...(status === "running" ? [id] : []), ...runningIds(children)])
}

function notRunning(id: string): string {
  return `No sub-agent ${id} is running. /agents lists them.`
}

function noTask(number: string): string {
  return `No background task ${number} is running. /agents lists them.`
}

function taskLines(tasks: ReturnType<App["backgroundTasks"]["list"]>, now: number): readonly string[] {
  return tasks.map(({ number, prompt, startedAt, toolCount, hasQuestion }) => {
    const shown = ellipsize(prompt.replaceAll(/\s+/gu, " "), MAX_GOAL_CHARS)
    const facts = [`running for ${compactDuration((now - startedAt) / 1000)}`, counted(toolCount, "tool call")]
    return `Task ${number}  ${shown}  (${[...facts, ...(hasQuestion ? ["waits for your answer"] : [])].join("; ")})`
  })
}

type Nodes = ReturnType<App["subAgents"]["tree"]>

const MAX_GOAL_CHARS = 60

function treeLines(nodes: Nodes, now: number): readonly string[] {
  return nodes.length === 0 ? ["There are no sub-agents."] : nodes.flatMap((node) => nodeLines(node, now))
}

function nodeLines(node: Nodes[number], now: number): readonly string[] {
  const { tokens, toolCount, lastTool, status, delegationId } = node
  const facts = [
    status === "running" ? `running for ${compactDuration((now - node.startedAt) / 1000)}` : status,
    ...(delegationId === undefined ? [] : [`background ${delegationId}`]),
    `${counted(toolCount, "tool call")}${lastTool === undefined ? "" : `, last ${lastTool}`}`,
    `${compactCount(tokens.input + tokens.output)} tokens`,
  ]
  const goal = ellipsize(node.goal.replaceAll(/\s+/gu, " "), MAX_GOAL_CHARS)
  const line = `${"  ".repeat(node.depth - 1)}${node.id}  ${goal}  (${facts.join("; ")})`
  return [line, ...node.children.flatMap((child) => nodeLines(child, now))]
}
