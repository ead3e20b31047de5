import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { ok } from "../../base/result.ts"
import type { SkillChange, SkillChangeResult } from "../../knowledge/skills/skill-change.ts"
import type { Message } from "../../protocol/message.ts"
import type { SkillsPort } from "../../toolkit/ports/skills.ts"
import type { RunnableTool, ToolEntry } from "../../toolkit/tool.ts"
import type { FacetContext } from "../session/facet-context.ts"
import { runBackgroundTurn } from "./background-turn.ts"
import { isSkillWriter } from "./skill-writer.ts"

const INSTRUCTION =
  "[This is not from the user. The work above took many steps. Is there a procedure in it that will be needed again: a workflow, a tricky fix, " +
  "conventions of the user? If an existing skill covers it, load that one and propose a patch with what was missing or wrong. Otherwise propose one " +
  "new skill with skill_manage create: when to use it, numbered steps with the exact commands that worked, pitfalls, how to check the result; no " +
  "secrets, nothing that is true only today. The user decides about the proposal later. If there is no such procedure, just say so.]"

/** Runs a copy of the agent on the finished conversation with only the tools for skills. Its changes are staged. Returns lines for the user. */
export async function draftSkill(
  messages: readonly Message[],
  context: FacetContext,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const port = await context.ports().skills?.()
  if (port === undefined) return []
  const staged = new Map<string, string>()
  const dispatch = stagingDispatch(context.session().dispatch, port, (change, id) => {
    const what = change.action === "create" ? "drafted the skill" : "has an improvement for the skill"
    staged.set(
      id,
      `Hermes ${what} ${change.name} from this work: /skills diff ${id} shows it, /skills approve ${id} saves it.`,
    )
  })
  await runBackgroundTurn({ runId: "skill-draft", messages, instruction: INSTRUCTION, dispatch }, context, signal)
  return [...staged.values()]
}

/** The same door with only the tools for skills. What they write waits for the user, so later sessions do not follow it yet. */
function stagingDispatch(
  dispatch: DispatchSession,
  port: SkillsPort,
  onStaged: (change: SkillChange, id: string) => void,
): DispatchSession {
  const { guardrails: _guardrails, hooks: _hooks, ...rest } = dispatch
  const change = async (wanted: SkillChange): Promise<SkillChangeResult> => {
    const result = await port.stage(wanted)
    if (result.kind === "staged") onStaged(wanted, result.id)
    return result
  }
  const staging: SkillsPort = { ...port, change }
  const tools = [...dispatch.tools].filter(([, { role }]) => role === "skills")
  return {
    ...rest,
    tools: new Map(tools.map(([name, entry]) => [name, isSkillWriter(entry) ? writingNothing(entry) : entry])),
    permissions: dispatch.permissions.restricted(),
    context: (...call) => {
      const given = dispatch.context(...call)
      return { ...given, ports: { ...given.ports, skills: () => Promise.resolve(staging) } }
    },
  }
}

/** With the staging port the tool changes nothing that a later session reads. */
function writingNothing(entry: ToolEntry): ToolEntry {
  const load = async (): Promise<RunnableTool> => {
    const tool = await entry.load()
    return {
      ...tool,
      parse: (args) => {
        const parsed = tool.parse(args)
        return parsed.ok ? ok({ ...parsed.value, access: "read" }) : parsed
      },
    }
  }
  return { ...entry, load }
}
