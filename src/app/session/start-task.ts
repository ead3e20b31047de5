import { platformOf, sourceOf } from "../../agent/origin.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { BackgroundTask } from "../services/background-tasks.ts"
import type { FacetContext } from "./facet-context.ts"

/**
 * Opens a session for a task of the user: the same model, tools, rules and directory as the conversation, and nothing of what was said
 * in it.
 */
export async function startTask(prompt: string, context: FacetContext): Promise<Result<BackgroundTask>> {
  const { options, services } = context
  const session = context.session()
  const { permissions } = session.dispatch
  if (permissions.rules().profile.default === "plan")
    return fail("Background tasks do not start in plan mode. Approve or abort the plan first.")
  const { resume: _resume, deliversNotices: _notices, generateTitle: _title, ...shared } = options
  const opened = await services.openTask({
    ...shared,
    model: session.chosenModel(),
    permissionProfile: permissions.profile,
    origin: {
      ...options.origin,
      surface: "background",
      platform: platformOf(options.origin),
      source: sourceOf(options.origin),
    },
  })
  if (!opened.ok) return fail(`The task could not be started: ${opened.error}`)
  // A compression changes the id of the session, but not the owner of its processes.
  const taskId = opened.value.id
  const ownRules = permissions.rules().layers.find(({ name }) => name === "session")?.rules ?? []
  // The newest is asked first.
  for (const { decision, pattern } of ownRules.toReversed()) opened.value.permissions.addRule(decision, pattern)
  return ok(
    services.backgroundTasks.add({
      prompt,
      session: opened.value,
      startedBy: session.conversation.id,
      closed: () => services.processes.killOwned(taskId, "the background task ended"),
    }),
  )
}
