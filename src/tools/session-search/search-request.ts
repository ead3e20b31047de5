import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"

/** The arguments of a call. */
export interface SearchArguments {
  readonly query?: string | undefined
  readonly session_id?: string | undefined
  readonly around_message_id?: number | undefined
  readonly limit: number
  readonly offset: number
  readonly window: number
  readonly sort?: "newest" | "oldest" | undefined
  readonly role_filter?: string | undefined
  readonly source?: string | undefined
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** A validated request with values within their limits. */
export interface SearchRequest {
  readonly query: string
  readonly session: string
  readonly aroundMessageId: number | undefined
  readonly limit: number
  readonly offset: number
  readonly window: number
  readonly sort: "newest" | "oldest" | undefined
  /** Undefined: the default of the mode. */
  readonly roles: readonly string[] | undefined
  readonly source: string | undefined
  /** Epoch seconds. */
  readonly after: number | undefined
  readonly before: number | undefined
}

const ROLES: readonly string[] = ["user", "assistant", "tool"]
const MAX_LIMIT = 10
const MAX_WINDOW = 20

export function parseSearchRequest(args: SearchArguments): Result<SearchRequest> {
  const roles = listOf(args.role_filter ?? "")
  const unknown = roles.find((role) => !ROLES.includes(role))
  if (unknown !== undefined) {
    return fail(`role_filter contains the unknown role "${unknown}": use a comma-separated list of ${ROLES.join(", ")}`)
  }
  const after = readDate("after", args.after)
  if (!after.ok) return after
  const before = readDate("before", args.before)
  if (!before.ok) return before
  const source = args.source?.trim() ?? ""
  return ok({
    query: args.query?.trim() ?? "",
    session: args.session_id?.trim() ?? "",
    aroundMessageId: args.around_message_id,
    limit: within(args.limit, 1, MAX_LIMIT),
    offset: Math.max(0, args.offset),
    window: within(args.window, 0, MAX_WINDOW),
    sort: args.sort,
    roles: roles.length === 0 ? undefined : roles,
    source: source === "" ? undefined : source,
    after: after.value,
    before: before.value,
  })
}

function listOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[\s,]+/u)
    .filter((item) => item !== "")
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](.+))?$/u

/** A date without time means midnight in the user's time zone. */
function readDate(name: string, given: string | undefined): Result<number | undefined> {
  const text = given?.trim() ?? ""
  if (text === "") return ok(undefined)
  const [, year = "", month = "", day = "", time = "00:00:00"] = DATE.exec(text) ?? []
  const date = new Date(`${year}-${month}-${day}T${time}`)
  if (Number.isNaN(date.getTime()) || !isCalendarDay(Number(year), Number(month), Number(day))) {
    return fail(`${name} is not a date: "${text.slice(0, 40)}"; write it as 2026-03-31 or 2026-03-31T14:00`)
  }
  return ok(date.getTime() / 1000)
}

/** JavaScript would read the 31st of February as the 3rd of March. */
function isCalendarDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function within(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}
