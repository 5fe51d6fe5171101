/** Lines over time. The canvas is for eyes; the same is said in a sentence and in the legend. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Figure, isFigure, UNKNOWN } from '../base/format.js';
import { formatMoment } from '../base/moment.js';
import { latestOf, summaryOf, type Timeline } from '../base/series.js';
import { Hidden } from './text.js';

interface TimeSeriesProps {
  readonly title: string;
  readonly timeline: Timeline;
  readonly format: (value: number) => string;
  /** Seconds since 1970: the span that was asked for, also where it has no figures. */
  readonly fromS?: number;
  readonly toS?: number;
  /** Figures are whole: no fractions at the side. */
  readonly isWhole?: boolean;
}

const HEIGHT_PX = 150;
/** As in `base/theme.css`. */
const COLOURS = ['--line-1', '--line-2', '--line-3', '--line-4'];

export function TimeSeries(props: TimeSeriesProps) {
  const { title, timeline, format, fromS, toS, isWhole = false } = props;
  /** The point that the reader points at; null: the last one. */
  const [at, setAt] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const labels = timeline.series.map(({ label }) => label).join('\n');
  useLayoutEffect(() => {
    if (box.current === null) return;
    const made = new Plot(box.current, timeline, { format, isWhole, onPoint: setAt });
    plot.current = made;
    return () => made.end();
  }, [labels]);
  useEffect(() => plot.current?.show(timeline, fromS, toS), [timeline, fromS, toS]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">
          {title}
          {at !== null && (
            <span class="quiet"> {formatMoment((timeline.times[at] ?? 0) * 1000)}</span>
          )}
        </span>
        {timeline.series.map((one, i) => (
          <span key={one.label} class="legend">
            <i data-line={i + 1} aria-hidden="true" />
            {one.label} <b>{formatted(at === null ? latestOf(one) : one.values[at], format)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} class="canvas" aria-hidden="true" />
      {timeline.series.every((one) => latestOf(one) === null) && (
        <p class="no-figures quiet">Nothing counted in this span yet.</p>
      )}
      <Hidden>{summaryOf(timeline, format)}</Hidden>
    </figure>
  );
}

function formatted(value: Figure, format: (value: number) => string): string {
  return isFigure(value) ? format(value) : UNKNOWN;
}

interface PlotOptions {
  readonly format: (value: number) => string;
  readonly isWhole: boolean;
  readonly onPoint: (at: number | null) => void;
}

/** Steps between the lines of whole figures. */
const WHOLE_STEPS = [1, 2, 5].flatMap((step) =>
  Array.from({ length: 12 }, (_, power) => step * 10 ** power),
);

/** Follows the width of its box and the colours of the theme. */
class Plot {
  readonly #box: HTMLElement;
  readonly #options: PlotOptions;
  readonly #observer: ResizeObserver;
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #timeline: Timeline;
  #span: [number, number] | null = null;
  #plot: uPlot;

  constructor(box: HTMLElement, timeline: Timeline, options: PlotOptions) {
    this.#box = box;
    this.#options = options;
    this.#timeline = timeline;
    this.#plot = this.#draw();
    this.#observer = new ResizeObserver(() => {
      this.#plot.setSize({ width: box.clientWidth, height: HEIGHT_PX });
    });
    this.#observer.observe(box);
    this.#dark.addEventListener('change', this.#redraw);
  }

  show(timeline: Timeline, fromS: number | undefined, toS: number | undefined): void {
    this.#timeline = timeline;
    this.#span = fromS === undefined || toS === undefined ? null : [fromS, toS];
    this.#plot.setData(dataOf(timeline));
  }

  end(): void {
    this.#observer.disconnect();
    this.#dark.removeEventListener('change', this.#redraw);
    this.#plot.destroy();
  }

  readonly #redraw = (): void => {
    this.#plot.destroy();
    this.#plot = this.#draw();
  };

  #draw(): uPlot {
    const { format, isWhole, onPoint } = this.#options;
    const colours = getComputedStyle(this.#box);
    const colour = (name: string) => colours.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--quiet'),
      font: `11px ${colour('--sans')}`,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const options: uPlot.Options = {
      width: this.#box.clientWidth,
      height: HEIGHT_PX,
      padding: [12, 18, 0, 0],
      legend: { show: false },
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
      cursor: { y: false, points: { size: 6 } },
      scales: {
        x: { range: (_, low, high) => this.#span ?? [low, high] },
        y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
      },
      axes: [
        { ...axis, size: 24, space: 80, values: (_, ticks) => ticks.map(tickText) },
        {
          ...axis,
          size: 58,
          values: (_, ticks) => ticks.map((tick) => (tick === 0 ? '0' : format(tick))),
          ...(isWhole && { incrs: WHOLE_STEPS.toSorted((a, b) => a - b) }),
        },
      ],
      series: [
        {},
        ...this.#timeline.series.map(({ label }, i) => ({
          label,
          stroke: colour(COLOURS[i % COLOURS.length] ?? ''),
          width: 1.5,
          points: { size: 5, filter: (plot: uPlot, at: number) => alone(plot.data[at] ?? []) },
        })),
      ],
    };
    return new uPlot(options, dataOf(this.#timeline), this.#box);
  }
}

/** Points without a neighbour, of which no line tells. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const isThere = (at: number) => typeof values[at] === 'number';
  const points: number[] = [];
  for (let at = 0; at < values.length; at++) {
    if (isThere(at) && !isThere(at - 1) && !isThere(at + 1)) points.push(at);
  }
  return points;
}

/** The time of the day; at its beginning the day. */
function tickText(seconds: number): string {
  const [day = '', clock = ''] = formatMoment(seconds * 1000).split(' ');
  return clock.startsWith('00:00') ? day.slice(5) : clock.slice(0, 5);
}

function dataOf({ times, series }: Timeline): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}
