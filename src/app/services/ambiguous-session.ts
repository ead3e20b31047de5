import type { SessionStore } from "../../state/store.ts"

const MAX_LISTED = 5

/** A sentence about a beginning that several session ids share; undefined when at most one has it. */
export async function ambiguousSession(
  store: Pick<SessionStore, "idsWithPrefix" | "session">,
  name: string,
): Promise<string | undefined> {
  const ids = await store.idsWithPrefix(name, MAX_LISTED + 1)
  if (ids.length < 2) return undefined
  const rows = await Promise.all(ids.slice(0, MAX_LISTED).map((id) => store.session(id)))
  const listed = rows.flatMap((row) =>
    row === undefined ? [] : [row.title === null ? row.id : `${row.id} (${row.title})`],
  )
  const more = ids.length > MAX_LISTED ? " and more" : ""
  return `"${name}" is ambiguous. These session ids start with it: ${listed.join(", ")}${more}. Type more of the id.`
}
