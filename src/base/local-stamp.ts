/** The local time for names of files and sessions: `20261116` and `143005`. */
export function localStamp(milliseconds: number): { readonly date: string; readonly time: string } {
  const moment = new Date(milliseconds)
  const two = (value: number): string => String(value).padStart(2, "0")
  return {
    date: `${String(moment.getFullYear()).padStart(4, "0")}${two(moment.getMonth() + 1)}${two(moment.getDate())}`,
    time: `${two(moment.getHours())}${two(moment.getMinutes())}${two(moment.getSeconds())}`,
  }
}
