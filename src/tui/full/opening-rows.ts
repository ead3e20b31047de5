import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session/session.ts"
import type { Row } from "../drawing.ts"
import { bannerRows } from "../render/banner.ts"
import { noteRows } from "../render/note-rows.ts"
import type { RowOptions } from "../render/row-options.ts"

export interface OpeningOptions extends RowOptions {
  readonly app: App
  readonly session: Session
  readonly branch: string | undefined
}

/** What a conversation begins with: the facts, and of a resumed one the last exchanges. */
export async function openingRows({ app, session, branch, ...view }: OpeningOptions): Promise<readonly Row[]> {
  const { facts, context } = session
  const hasModel = facts.modelProblem === undefined
  const banner = bannerRows(
    {
      version: app.version,
      model: facts.model,
      provider: hasModel ? (facts.provider === "demo" ? "demo, not an AI" : facts.provider) : "/model connects one",
      contextWindow: hasModel && context.contextLength > 0 ? context.contextLength : undefined,
      directory: facts.cwd,
      branch,
      backend: app.config.get("terminal.backend"),
      permissionProfile: facts.permissionProfile,
      skills: (await session.skills?.list())?.length,
      profile: app.home.profile,
    },
    { ...view, compact: app.config.get("display.compact") || facts.resumed },
  )
  if (!facts.resumed) return banner
  const ending = facts.endsInterrupted ? " The last reply was interrupted." : ""
  const moved = facts.movedFrom === undefined ? "" : ` It was in ${facts.movedFrom} before.`
  return [
    ...banner,
    ...(await recentRows({ app, session, ...view })),
    "",
    ...noteRows(`Continuing ${session.id} with ${facts.messages} messages.${ending}${moved}`, {
      ...view,
      kind: "note",
    }),
  ]
}

/** The last exchanges of a conversation. */
export async function recentRows({ app, session, ...view }: Omit<OpeningOptions, "branch">): Promise<readonly Row[]> {
  // It renders Markdown, which a conversation that begins does not need yet.
  const { recapRows } = await import("../render/recap-rows.ts")
  const messages = await (await app.store()).conversation(session.id)
  return ["", ...recapRows(messages, { ...view, exchanges: app.config.get("display.resume_exchanges") })]
}
