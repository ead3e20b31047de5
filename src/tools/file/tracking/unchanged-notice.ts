/** The result of a repeated read instead of the content. */
export const UNCHANGED_NOTICE =
  "The file has not changed since you last read this part; its content is further up in this conversation."

/** A model that copies the result of a read into a file would replace the file with this sentence. */
export function isUnchangedNotice(content: string): boolean {
  return content.includes(UNCHANGED_NOTICE) && content.length <= 2 * UNCHANGED_NOTICE.length
}
