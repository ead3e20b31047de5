/** The picture inside a `data:` URL; undefined for every other address. */
export function inlineImage(url: string): { readonly mimeType: string; readonly base64: string } | undefined {
  const [, mimeType, base64] = /^data:(image\/[a-z0-9.+-]+)(?:;[^,;]*)*;base64,(.*)$/is.exec(url) ?? []
  if (mimeType === undefined || base64 === undefined || base64 === "") return undefined
  return { mimeType: mimeType.toLowerCase(), base64: base64.replaceAll(/\s/g, "") }
}

/** What the model reads instead of a picture that this wire cannot carry. */
export function imageNote(url: string): string {
  return /^https?:/i.test(url) ? `[image not sent: ${url.slice(0, 200)}]` : "[image not sent]"
}
