/** Lines over time. The canvas is for eyes; the same is said in a sentence and in the legend. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
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
}

const HEIGHT_PX = 150;
/** As in `base/theme.css`. */
const COLOURS = ['--line-1', '--line-2', '--line-3', '--line-4'];

export function TimeSeries({ title, timeline, format, fromS, toS }: TimeSeriesProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const labels = timeline.series.map(({ label }) => label).join('\n');
  useLayoutEffect(() => {
    if (box.current === null) return;
    const made = new Plot(box.current, timeline, format);
    plot.current = made;
    return () => made.end();
  }, [labels]);
  useEffect(() => plot.current?.show(timeline, fromS, toS), [timeline, fromS, toS]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {timeline.series.map((one, i) => (
          <span key={one.label} class="legend">
            <i data-line={i + 1} aria-hidden="true" />
            {one.label} <b>{formatted(latestOf(one), format)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} class="canvas" aria-hidden="true" />
      <Hidden>{summaryOf(timeline, format)}</Hidden>
    </figure>
  );
}

function formatted(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

/** Follows the width of its box and the colours of the theme. */
class Plot {
  readonly #box: HTMLElement;
  readonly #format: (value: number) => string;
  readonly #observer: ResizeObserver;
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #timeline: Timeline;
  #span: [number, number] | null = null;
  #plot: uPlot;

  constructor(box: HTMLElement, timeline: Timeline, format: (value: number) => string) {
    this.#box = box;
    this.#format = format;
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
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: {
        x: { range: (_, low, high) => this.#span ?? [low, high] },
        y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
      },
      axes: [
        { ...axis, size: 24, space: 80, values: (_, ticks) => ticks.map(tickText) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => this.#format(tick)) },
      ],
      series: [
        {},
        ...this.#timeline.series.map(({ label }, i) => ({
          label,
          stroke: colour(COLOURS[i % COLOURS.length] ?? ''),
          width: 1.5,
          points: { show: false },
        })),
      ],
    };
    return new uPlot(options, dataOf(this.#timeline), this.#box);
  }
}

/** The time of the day; at its beginning the day. */
function tickText(seconds: number): string {
  const [day = '', clock = ''] = formatMoment(seconds * 1000).split(' ');
  return clock.startsWith('00:00') ? day.slice(5) : clock.slice(0, 5);
}

function dataOf({ times, series }: Timeline): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}
