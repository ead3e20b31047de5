import type { AgentEvent } from "../../../src/protocol/events.ts"
import type { Session } from "../../../src/app/session/session.ts"
import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const READS = ["a.txt", "b.txt", "deep/c.txt"].map((path) => ({ name: "read_file", input: { path } }))
const FAILS = { command: "echo 'error: cannot find module left-pad'; exit 3" }

const SCRIPT: readonly ScriptEntry[] = [
  // 1: a memory write does not change the prompt of the session
  callsTool("memory", { action: "add", target: "user", content: "Likes blue doors." }),
  says("Kept."),
  // 2: a task list, and work on it; the rules of a directory come with the first result from it
  callsTool("todo", { todos: [todo("1", "in_progress"), todo("2", "pending")] }),
  reply({ text: "Reading.", reasoning: "All three at once.", calls: READS }),
  callsTool("todo", { todos: [todo("1", "completed"), todo("2", "in_progress")], merge: true }),
  says("Read."),
  // 3: a steering note while a command runs
  callsTool("terminal", { command: "echo working; sleep 0.2; echo worked" }),
  callsTool("terminal", { command: "echo and on" }),
  says("Steered."),
  // 4: an error, its fix, and arguments that are repaired
  callsTool("terminal", FAILS),
  callsTool("terminal", { command: "echo 'installed left-pad'" }),
  reply({ calls: [{ name: "read_file", input: '{"path": "a.txt",}' }] }),
  says("Solved."),
  // 5: the user interrupts a command
  callsTool("terminal", { command: "echo waiting; sleep 30" }),
  // 6: another model replies
  callsTool("terminal", FAILS),
  says("I am another model."),
  // 7: resumed by another process, in plan mode
  callsTool("write_file", { path: "no.txt", content: "no" }),
  callsTool("todo", { todos: [todo("2", "completed")], merge: true }),
  says("Planned."),
  // 8: resumed by another process, with a changed memory
  callsTool("memory", { action: "add", target: "memory", content: "The door is done." }),
  says("Done."),
]

function todo(id: string, status: string): object {
  return { id, content: `paint door ${id}`, status }
}

/** Runs a session with every event that could change earlier messages. Returns the bodies of its requests without the model name. */
export async function eventfulSession(): Promise<readonly string[]> {
  await using assembled = await assembleApp(SCRIPT, {
    config: "memory:\n  nudge_interval: 0\nauxiliary:\n  title_generation:\n    provider: none\n",
    files: { "memories/MEMORY.md": "The house is on a hill." },
    workFiles: {
      "AGENTS.md": "Be brief.",
      "a.txt": "a\n",
      "b.txt": "b\n",
      "deep/AGENTS.md": "Be deep.",
      "deep/c.txt": "c\n",
    },
  })
  const session = await assembled.open()
  await completed(session, "My doors are to be blue.")
  await completed(session, "Plan the work.")
  await completed(session, "Work.", (event) => {
    if (event.type === "tool-progress") session.steer("Use the small brush.")
  })
  await completed(session, "Try it.")
  const stopped = await runToEnd(session, "Wait.", (event) => {
    if (event.type === "tool-progress") session.interrupt()
  })
  if (stopped.end.outcome !== "interrupted") throw new Error(`the wait ended with ${stopped.end.outcome}`)
  await switchModel(assembled, session, "other-model")
  await completed(session, "Who are you?")
  await session.close("test")

  const { id } = session
  await using second = await assembled.restart()
  const planning = await second.open({ resume: id, permissionProfile: "plan" })
  await completed(planning, "Only plan now.")
  await planning.close("test")
  await using third = await second.restart()
  await completed(await third.open({ resume: id }), "Finish it.")
  if (assembled.model.unanswered.length > 0) throw new Error("the script was too short")
  return assembled.model.requests.map(({ rawBody }) => rawBody.replace(/^\{"model":"[^"]+",/u, "{"))
}

async function completed(
  session: Session,
  userText: string,
  on: (event: AgentEvent) => void = () => undefined,
): Promise<void> {
  const { end } = await runToEnd(session, userText, on)
  if (end.outcome !== "completed" && end.outcome !== "plan-ready")
    throw new Error(`"${userText}" ended with ${end.outcome}: ${end.result.error?.message}`)
}

async function switchModel(assembled: AssembledApp, session: Session, model: string): Promise<void> {
  const chosen = assembled.app.chooseModel({ model })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const switched = await session.switchModel(chosen.value)
  if (!switched.ok) throw new Error(switched.error)
}
