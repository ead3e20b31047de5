/** Returns the image inside a `data:` URL; undefined for any other URL. */
export function parseImageDataUrl(url: string): { readonly mimeType: string; readonly base64: string } | undefined {
  const [, mimeType, base64] = /^data:(image\/[a-z0-9.+-]+)(?:;[^,;]*)*;base64,(.*)$/is.exec(url) ?? []
  if (mimeType === undefined || base64 === undefined || base64 === "") return undefined
  return { mimeType: mimeType.toLowerCase(), base64: base64.replaceAll(/\s/g, "") }
}

/** The text sent instead of an image that the wire format cannot carry. */
export function omittedImageNote(url: string): string {
  return /^https?:/i.test(url) ? `[image not sent: ${url.slice(0, 200)}]` : "[image not sent]"
}
