import { S } from "../strings";

/** Ago shows how long ago a time was, and the time itself on demand. */
export function Ago({ time }: { time: string }) {
  const date = new Date(time);
  return (
    <time dateTime={time} title={date.toLocaleString()}>
      {S.common.ago((Date.now() - date.getTime()) / 1000)}
    </time>
  );
}
