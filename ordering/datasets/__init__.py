"""From files to Clips (MAT files, segmentation folders, tables, shipped real sets) and from labels to files."""

from ordering.datasets.folders import frames_that_fit, load_segmentation_folder
from ordering.datasets.real import (
    INTERVAL_SECONDS,
    Recordings,
    load_birdsong,
    load_chords,
    load_gestures,
    load_mocap6,
    mocap6_recordings,
)
from ordering.datasets.segments import read_segments, segments, write_segments
from ordering.datasets.table import from_table
from ordering.datasets.willow import load_willow

__all__ = ["INTERVAL_SECONDS", "Recordings", "frames_that_fit", "from_table", "load_birdsong", "load_chords",
           "load_gestures", "load_mocap6", "load_segmentation_folder", "load_willow", "mocap6_recordings",
           "read_segments", "segments", "write_segments"]
