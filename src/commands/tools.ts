import type { App, ToolsetTools } from "../app/app.ts"
import { nearest } from "../base/nearest-name.ts"
import { discardArgument, mayDiscard } from "./discard.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/tools`: the tools of this session, by toolset; other toolsets need a new conversation. */
export const toolsCommand: SlashCommand = {
  name: "tools",
  category: "tools",
  help: "list the tools the model may use, or start a conversation with others",
  argument: "[list | enable TOOLSET… | disable TOOLSET…]",
  details:
    "The tools of a conversation never change, because they are part of its cached prompt; so a change starts a new one. `hermes tools` changes them for good.",
  run: listOrChange,
}

/** `/toolsets`: all toolsets. */
export const toolsetsCommand: SlashCommand = {
  name: "toolsets",
  category: "tools",
  help: "list all toolsets",
  run: (_argument, { app, session }) => {
    const active = new Set(session.facts.tools)
    const sets = app.toolsets()
    const width = Math.max(0, ...sets.map(({ name }) => name.length))
    return Promise.resolve(
      reply(
        sets
          .map(({ name, tools }) => {
            const mark = tools.some((tool) => active.has(tool)) ? "*" : " "
            return `${mark} ${name.padEnd(width)}  ${tools.join(", ")}`
          })
          .join("\n"),
      ),
    )
  },
}

const USAGE = "Usage: /tools, /tools enable TOOLSET…, /tools disable TOOLSET…. /toolsets lists them."

async function listOrChange(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, session, open, running } = context
  const { text, isConfirmed } = discardArgument(argument)
  const [action = "list", ...names] = text.split(/[\s,]+/u).filter((word) => word !== "")
  if (action === "list" && names.length === 0) return reply(listText(session.facts.tools, app.toolsets()))
  if ((action !== "enable" && action !== "disable") || names.length === 0) return reply(USAGE)
  if (running) return reply("The tools can be changed when the reply is complete. /stop interrupts it.")
  const known = app.toolsets()
  const unknown = names.filter((name) => !known.some((toolset) => toolset.name === name))
  if (unknown.length > 0) return reply(unknownText(unknown, known))
  const question = `Start a new conversation with ${action === "enable" ? "more" : "fewer"} tools? This one stays stored; its prompt cache cannot be used for the new one.`
  if (session.isStored && !(await mayDiscard(question, { isConfirmed }, context)))
    return reply("The tools did not change.")
  const next = await open(undefined, { toolsets: changedToolsets(names, action, context) })
  const done = `Started a new conversation with ${next.facts.tools.length} tools.`
  const without = action === "enable" ? names.filter((name) => isDisabled(name, app)) : []
  return {
    kind: "switch",
    session: next,
    text:
      without.length === 0
        ? done
        : `${done} Still disabled by agent.disabled_toolsets: ${without.join(", ")}. \`hermes tools enable\` changes that.`,
  }
}

/** The toolsets with tools of this session, with or without some. */
function changedToolsets(
  names: readonly string[],
  action: "enable" | "disable",
  { app, session }: SlashContext,
): readonly string[] {
  const tools = new Set(session.facts.tools)
  const active = app
    .toolsets()
    .filter((toolset) => toolset.tools.some((tool) => tools.has(tool)))
    .map(({ name }) => name)
  return action === "enable" ? [...new Set([...active, ...names])] : active.filter((name) => !names.includes(name))
}

function isDisabled(name: string, { config }: App): boolean {
  return config.get("agent.disabled_toolsets").includes(name)
}

function listText(tools: readonly string[], toolsets: readonly ToolsetTools[]): string {
  const grouped = toolsets
    .map(({ name, tools: members }) => ({ name, members: members.filter((tool) => tools.includes(tool)) }))
    .filter(({ members }) => members.length > 0)
  const others = tools.filter((tool) => !grouped.some(({ members }) => members.includes(tool)))
  const width = Math.max(5, ...grouped.map(({ name }) => name.length))
  return [
    ...grouped.map(({ name, members }) => `${name.padEnd(width)}  ${members.join(", ")}`),
    ...(others.length === 0 ? [] : [`${"other".padEnd(width)}  ${others.join(", ")}`]),
  ].join("\n")
}

function unknownText(unknown: readonly string[], known: readonly ToolsetTools[]): string {
  const names = known.map(({ name }) => name)
  const closest = nearest(unknown[0] ?? "", names)
  return `There is no toolset ${unknown.join(", ")}.${closest === undefined ? "" : ` Did you mean ${closest}?`} /toolsets lists them.`
}
