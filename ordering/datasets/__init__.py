"""From files to Clips (MAT files, segmentation folders, tables, shipped real sets) and from labels to files."""

from ordering.datasets.folders import load_segmentation_folder
from ordering.datasets.real import (
    INTERVAL_SECONDS,
    Recordings,
    load_birdsong,
    load_chords,
    load_gestures,
    load_mocap6,
    mocap6_recordings,
)
from ordering.datasets.segments import segments, write_segments
from ordering.datasets.willow import load_willow

__all__ = ["INTERVAL_SECONDS", "Recordings", "load_birdsong", "load_chords", "load_gestures", "load_mocap6",
           "load_segmentation_folder", "load_willow", "mocap6_recordings", "segments", "write_segments"]
