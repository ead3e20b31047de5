import { ellipsize } from "../../base/text.ts"

const MAX_SUBJECT_CHARS = 100

/** What a notice reports, in one line for the user: without the mark and the explanation that are for the model. */
export function noticeHeadline(notice: string): string {
  const [first = "", second = ""] = notice.split("\n", 2)
  const what = first
    .replace(/^\[IMPORTANT: /u, "")
    .replace(/ This is a report by Hermes\b.*$/u, "")
    .replace(/\]$/u, "")
  const subject = /^(?:Goal|Command): (.*?)\]?$/u.exec(second)?.[1]
  return subject === undefined ? what : `${what} (${ellipsize(subject, MAX_SUBJECT_CHARS)})`
}
